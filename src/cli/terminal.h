/* What the cli finds out about the descriptors it writes to. */
#ifndef MALLOW_CLI_TERMINAL_H
#define MALLOW_CLI_TERMINAL_H

#include "report/style.h"

/*
 * The style for text written to fd: colours and a width only on a terminal, no colours with
 * NO_COLOR or TERM=dumb. exact and full are false.
 */
struct style terminal_style(int fd);

#endif
