/*
 * MODE=live: what the hooks call directly for a thread that is open (guard_is_open()). Nested
 * calls, handlers and reallocs go by the sink (live.h).
 *
 * With samples a hook first asks whether it can pass a call over: an allocation into which no
 * sample falls, or the end of a block that cannot be a sample. Then it goes straight on to the real
 * function and leaves no trace. The guard is not set meanwhile, so this happens only where the real
 * function calls no other hook (LIVE_WAY_SAMPLES).
 *
 * A call is passed over whatever the thread is doing, and whether it is open or not: any other way
 * would only count the call's bytes, too. Two kinds of allocations find no bytes left to use up,
 * and thus take the ordinary way: those that are nested in a hook and counted with it
 * (admission_hold()); and the first one of a thread, or of a child whose memory was wiped, which
 * begins its recording. An end that is passed over begins nothing.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_HOOK_H
#define MALLOW_AGENT_LIVE_LIVE_HOOK_H

#include "agent/event/admission.h"
#include "agent/event/thread.h"
#include "agent/live/live_sampled.h"
#include "base/compiler.h"

/*
 * Whether an allocation is passed over; then its bytes were counted by this call. thread may be
 * NULL: false.
 */
static inline bool live_passes_over(struct thread *thread, uint64_t size)
{
	return likely(thread != NULL) && likely(admission_passes_over(&thread->admission, size));
}

/* Whether the end of a block is passed over. */
static inline bool live_passes_over_end(const void *block)
{
	return likely(live_way == LIVE_WAY_SAMPLES) &&
	       likely(!live_sampled_has(arch_address(block)));
}

/* Whether a realloc is passed over: both its end and its allocation are. old may be NULL. */
static inline bool live_passes_over_resize(struct thread *thread, const void *old, uint64_t size)
{
	return live_passes_over_end(old) && live_passes_over(thread, size);
}

/*
 * A call that was not passed over. caller: the hook's, as guard_open() got it. (thread->outer may
 * be another hook's by now: the program may switch stacks in the real function.) block may be NULL.
 */
void live_allocates_here(struct thread *thread, struct arch_mark caller, const void *block,
			 uint64_t size);
void live_ends_here(struct thread *thread, const void *block);

#endif
