/*
 * Around every call that makes a copy of the process. How a child begins is thread_begin_slow()'s
 * and process_start()'s; here is what a fork in the middle of a hook needs.
 *
 * Mostly that is nothing: the kernel wipes struct process and struct thread in the child, which
 * begins anew at its first event.
 *
 * But a signal handler may fork that interrupted a write of ours, and the child may return from it
 * into the rest of that write, with its registers full of what was wiped and unmapped. So such a
 * thread is kept (thread->forked), with a copy of its slot that nobody reads: the child completes
 * the write there. What its handler has allocated meanwhile waits in `pending`, behind a mark;
 * where the mark is met, thread_renew_slow() begins the child's recording. No hot path knows of
 * this: it looks at `pending` anyway. docs/adr/0008-fork-in-a-write.md has the alternatives.
 *
 * One that interrupted a hook between two writes, in the real malloc say, returns into the rest of
 * that hook. Its thread is wiped like any other, but for the guard, which is put back: whoever
 * comes before the hook is done must not find the thread open.
 */
#ifndef MALLOW_AGENT_LIFE_FORK_H
#define MALLOW_AGENT_LIFE_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ground/signal_bracket.h"

struct thread;
struct trace_chunk;

struct fork {
	struct thread *thread; /* that is in a hook, or NULL */
	uint64_t outer;        /* its guard */
	bool kept;             /* the hook was writing */
	struct signal_bracket bracket;
	struct trace_chunk *slot;
	size_t slot_size;
	bool slot_shared;
};

/* On the caller's stack; ended in parent and child, whatever came of it. */
void fork_begin(struct fork *fork);

/* result: 0 in the child. */
void fork_end(struct fork *fork, long result);

#endif
