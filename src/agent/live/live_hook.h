/*
 * MODE=live, right from a hook whose thread is open (guard_is_open()). The slow ways into the
 * table, of nested calls, handlers and reallocs, are those of all events (live.h).
 *
 * Samples: what none falls into, and the end of what cannot be one, is passed over, by a hook that
 * goes straight on to the real function and leaves no trace. The guard is not set meanwhile. So it
 * takes that way only where the real function comes to no other hook (LIVE_WAY_SAMPLES).
 *
 * Whether the thread is open, and what it is doing, does not matter for that: by any other way
 * nothing would come of it, either, but that its bytes have gone by. Two have no bytes left, and
 * go the way of all: allocations that are nested in a hook, and are counted with that
 * (admission_hold()); and the first of a thread, or of a child, whose memory was wiped, which
 * thereby begin. An end that is passed over begins nothing.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_HOOK_H
#define MALLOW_AGENT_LIVE_LIVE_HOOK_H

#include "agent/event/admission.h"
#include "agent/event/thread.h"
#include "agent/live/live_sampled.h"
#include "base/compiler.h"

/* Whether an allocation is passed over, which was thereby counted as such. thread may be NULL. */
static inline bool live_passes_over(struct thread *thread, uint64_t size)
{
	return likely(thread != NULL) && likely(admission_passes_over(&thread->admission, size));
}

/* Whether the end of a block is. */
static inline bool live_passes_over_end(const void *block)
{
	return likely(live_way == LIVE_WAY_SAMPLES) && likely(!live_sampled_has((uint64_t)block));
}

/* A realloc is where both its halves are. old may be NULL. */
static inline bool live_passes_over_resize(struct thread *thread, const void *old, uint64_t size)
{
	return live_passes_over_end(old) && live_passes_over(thread, size);
}

/*
 * What was not passed over. sp: as guard_open() had it, who may be another by now: the program may
 * switch stacks in the real function. block may be NULL.
 */
void live_allocates_here(struct thread *thread, uint64_t sp, const void *block, uint64_t size);
void live_ends_here(struct thread *thread, const void *block);

#endif
