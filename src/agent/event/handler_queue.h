/*
 * Events of signal handlers that interrupted the agent itself. The thread is in the middle of
 * writing then. So such an event waits here, with its stack, until the interrupted hook is done.
 *
 * Each thread has a queue, which only the thread and its signal handlers touch. A handler may
 * interrupt handler_queue_add(). So that function claims space first, and an entry counts once its
 * size is stored.
 */
#ifndef MALLOW_AGENT_EVENT_HANDLER_QUEUE_H
#define MALLOW_AGENT_EVENT_HANDLER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define HANDLER_QUEUE_WORDS  4096
#define HANDLER_QUEUE_FRAMES 256 /* a handler's stack is cut there */

struct handler_queue {
	uint64_t *words; /* HANDLER_QUEUE_WORDS */
	uint32_t used;   /* claimed words */
};

struct event;
struct thread;
struct unwind_state;

/*
 * Puts the event into the queue, with its stack if state is not NULL. If sink->waits() says no, the
 * sink is done with the event, and nothing is queued. false: the queue is full, and the event is
 * counted as lost.
 */
bool handler_queue_add(struct thread *thread, const struct event *event,
		       const struct unwind_state *state);

/*
 * In a child that kept the thread (fork.h): adds a mark. Events before it are the parent's. Events
 * after it belong to the recording that the child begins when the flush meets the mark.
 */
void handler_queue_mark(struct thread *thread);

/* The process ends in a handler: counts the waiting events, which are never written, as lost. */
void handler_queue_lose(struct thread *thread);

/*
 * The flush calls this at the mark. It is thread_renew_slow() of the room life, which this room may
 * not name. Set before the first event.
 */
extern void (*handler_queue_renew)(struct thread *thread) hidden;

/* Writes the events that wait. The interrupted hook calls it when it is done. */
void handler_queue_flush_slow(struct thread *thread);

#endif
