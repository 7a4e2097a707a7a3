/*
 * Handles a fork in the middle of a hook. The hooks call fork_begin() and fork_end() around every
 * call that copies the process. How a child's recording begins is in thread_begin_slow() and
 * process_start().
 *
 * Mostly there is nothing to do: the kernel wipes struct process and struct thread in the child,
 * which begins anew at its first event. A fork in the middle of a hook comes from a signal handler.
 * There are two cases:
 *
 * The handler interrupted a write of ours. The child may return from the handler into the rest of
 * that write, with pointers in its registers to memory that was wiped or unmapped. So the thread is
 * kept for the child (thread->forked), and the child gets a copy of the slot that nobody reads: it
 * completes the write there. What its handler allocates meanwhile waits in `pending`, after a mark.
 * Where the flush meets the mark, thread_renew_slow() begins the child's recording. The hot path
 * does no work for this: it looks at `pending` anyway. docs/adr/0008-fork-in-a-write.md has the
 * alternatives.
 *
 * The handler interrupted a hook between two writes, in the real malloc for example. The child
 * returns into the rest of that hook. The thread is wiped, but its guard is put back: an event that
 * comes before the hook is done must not find the thread open.
 */
#ifndef MALLOW_AGENT_LIFE_FORK_H
#define MALLOW_AGENT_LIFE_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ground/signal_bracket.h"
#include "agent/unwind/arch.h"

struct thread;
struct trace_chunk;

struct fork {
	struct thread *thread;  /* the calling thread if it is in a hook, else NULL */
	struct arch_mark outer; /* its guard */
	bool kept;              /* the hook was writing */
	struct signal_bracket bracket;
	struct trace_chunk *slot;
	size_t slot_size;
	bool slot_shared;
};

/* *fork is on the caller's stack. fork_end() must follow in parent and child, whatever happens. */
void fork_begin(struct fork *fork);

/* result: what fork returned, 0 in the child. */
void fork_end(struct fork *fork, long result);

#endif
