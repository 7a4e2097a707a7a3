/*
 * Ends connections whose clients are too slow. A client that sends or takes a byte now and then is
 * never idle, but would keep its connection and its thread for ever. So whenever it is the client's
 * turn, it has a fixed time: for a whole request, and for each piece of the answer. The server's
 * own time does not count.
 *
 * For several threads; each connection belongs to one thread.
 */
#ifndef MALLOW_SERVER_HTTP_DEADLINE_H
#define MALLOW_SERVER_HTTP_DEADLINE_H

#include "hosted/err.h"

struct deadlines;
struct deadline; /* of one connection */

struct err *deadlines_create(unsigned int seconds, struct deadlines **ret);
/* Accepts NULL. No connection may be left. */
void deadlines_destroy(struct deadlines *deadlines);

/*
 * A new connection: it is the client's turn to ask. When its time is over, the socket is shut down,
 * through a copy of fd; so fd may be closed at any time. NULL: no memory, or no descriptor; the
 * functions below accept NULL.
 */
struct deadline *deadline_begin(struct deadlines *deadlines, int fd);
void deadline_end(struct deadlines *deadlines, struct deadline *deadline);

/*
 * deadline_set(): it is the client's turn now, and its time begins anew. deadline_lift(): it is
 * not.
 */
void deadline_set(struct deadlines *deadlines, struct deadline *deadline);
void deadline_lift(struct deadlines *deadlines, struct deadline *deadline);

#endif
