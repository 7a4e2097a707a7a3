/*
 * Opens the user's browser: $BROWSER, which may name several with ':' between and has %s where the
 * address belongs, else xdg-open where there is a display.
 */
#ifndef MALLOW_CLI_OPEN_BROWSER_H
#define MALLOW_CLI_OPEN_BROWSER_H

#include "hosted/err.h"

/*
 * Opens an address, or prints it on standard error if there is no browser to be found. The browser
 * belongs to no terminal: Ctrl-C does not reach it, and nobody waits for it.
 */
struct err *open_browser(const char *address);

#endif
