/*
 * Ends connections whose clients are too slow, however busy they look: one that sends or takes a
 * byte now and then is never idle, and would hold its place and its thread for ever.
 *
 *	waiting     for a request, all of which must have come after so many seconds
 *	working     on the answer: the server's own time
 *	answering   of which the client must take DEADLINE_BYTES in so many seconds
 *
 * For several threads; one connection belongs to one thread.
 */
#ifndef MALLOW_SERVER_DEADLINE_H
#define MALLOW_SERVER_DEADLINE_H

#include <stddef.h>

#include "hosted/err.h"

#define DEADLINE_BYTES (32u << 10)

struct deadlines;
struct deadline; /* of one connection */

struct err *deadlines_create(unsigned int seconds, struct deadlines **ret);
/* Accepts NULL. No connection may be left. */
void deadlines_destroy(struct deadlines *deadlines);

/*
 * A new connection, waiting. Too late it is shut down by its socket, a copy of fd, so that it may
 * be closed at any time. NULL: no memory, or no descriptor; the others accept that.
 */
struct deadline *deadline_begin(struct deadlines *deadlines, int fd);
void deadline_end(struct deadlines *deadlines, struct deadline *deadline);

void deadline_wait(struct deadlines *deadlines, struct deadline *deadline);
void deadline_work(struct deadlines *deadlines, struct deadline *deadline);
/* So many bytes of the answer were taken. */
void deadline_take(struct deadlines *deadlines, struct deadline *deadline, size_t bytes);

#endif
