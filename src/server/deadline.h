/*
 * Ends connections whose clients are too slow, however busy they look: one that sends or takes a
 * byte now and then is never idle, and would hold its place and its thread for ever. While it is
 * the client's turn it has so many seconds: for all of a request, and for each piece of the answer.
 * The server's own time does not count.
 *
 * For several threads; one connection belongs to one thread.
 */
#ifndef MALLOW_SERVER_DEADLINE_H
#define MALLOW_SERVER_DEADLINE_H

#include "hosted/err.h"

struct deadlines;
struct deadline; /* of one connection */

struct err *deadlines_create(unsigned int seconds, struct deadlines **ret);
/* Accepts NULL. No connection may be left. */
void deadlines_destroy(struct deadlines *deadlines);

/*
 * A new connection, whose client is to ask. Too late it is shut down by its socket, a copy of fd,
 * so that it may be closed at any time. NULL: no memory, or no descriptor; the others
 * accept that.
 */
struct deadline *deadline_begin(struct deadlines *deadlines, int fd);
void deadline_end(struct deadlines *deadlines, struct deadline *deadline);

/* From now on it is the client's turn, anew; or nobody waits for it. */
void deadline_set(struct deadlines *deadlines, struct deadline *deadline);
void deadline_lift(struct deadlines *deadlines, struct deadline *deadline);

#endif
