/*
 * Opens the user's browser: $BROWSER, which may name several with ':' between and has %s where the
 * address belongs, else xdg-open where there is a display.
 */
#ifndef MALLOW_CLI_SERVE_OPEN_BROWSER_H
#define MALLOW_CLI_SERVE_OPEN_BROWSER_H

#include <stdbool.h>

#include "hosted/err.h"

/*
 * Opens an address. *ret: false: there is no browser to be found. The browser belongs to no
 * terminal: Ctrl-C does not reach it, and nobody waits for it. Everybody sees the address in its
 * argument list.
 */
struct err *open_browser(const char *address, bool *ret);

#endif
