/*
 * Threads that each serve a connection, and the links that are open, so that all of them can be
 * ended. Any thread may call these functions.
 */
#ifndef MALLOW_STREAM_LINK_LINK_SET_H
#define MALLOW_STREAM_LINK_LINK_SET_H

#include <pthread.h>
#include <stdbool.h>

#include "hosted/vec.h"
#include "stream/link/link.h"

struct linked {
	struct link *link;
	bool trusted;
};

struct link_set {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	size_t most;
	size_t threads;
	bool stopping;
	VEC(struct linked) links; /* in the order in which they came */
};

/* most: threads at a time. */
void link_set_init(struct link_set *set, size_t most);
/* After link_set_wait(). */
void link_set_deinit(struct link_set *set);

/* Starts a thread in which all signals are blocked: they are for the tool's own. */
int link_set_thread(pthread_t *thread, void *(*run)(void *), void *argument);

/*
 * If as many threads as may run do, breaks the link that has waited the longest for being trusted,
 * and waits until its thread has ended, for three seconds at most: strangers who shake hands slowly
 * keep nobody out. Where none has entered its link yet, it waits a tenth of a second for that. For
 * who accepts connections.
 */
void link_set_make_room(struct link_set *set);
/*
 * Starts a thread that runs run(argument). false: as many as may run do, or the set is stopping.
 */
bool link_set_start(struct link_set *set, void (*run)(void *argument), void *argument);

/*
 * Accepts connections at a listening socket until `stop` can be read, or its other end is closed.
 * Each has a thread, which runs serve() and owns fd. full: as many threads as may run do, so that a
 * connection is turned away; NULL: nobody is told.
 */
typedef void link_set_serve(void *argument, int fd);
void link_set_accept(struct link_set *set, int listener, int stop, link_set_serve *serve,
		     void (*full)(void *argument), void *argument);

/* Adds a link, which link_set_stop() breaks. false: the set is stopping. */
bool link_set_enter(struct link_set *set, struct link *link);
/* The other side has proved who it is, and said what it wants. */
void link_set_trust(struct link_set *set, const struct link *link);
/* Before the link is closed. */
void link_set_leave(struct link_set *set, const struct link *link);

/* Breaks all links. No thread and no link is added any more. */
void link_set_stop(struct link_set *set);
/* Waits until all threads have ended. */
void link_set_wait(struct link_set *set);

#endif
