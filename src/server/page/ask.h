/*
 * A question to the server without a socket: the same request, route and answer as by HTTP. What
 * writes answers into a file asks this way, so nothing is computed or formatted a second time.
 */
#ifndef MALLOW_SERVER_PAGE_ASK_H
#define MALLOW_SERVER_PAGE_ASK_H

#include "server/http/request.h"

/*
 * Appends the body of the answer to buf, a buffer in memory. target: a path with its query, as a
 * client sends it. *status: HTTP's; if it is not 200, the body is a line of text that says why. The
 * error is the machine's.
 */
struct err *ask(struct catalog *catalog, const char *target, struct buf *buf, unsigned int *status);

#endif
