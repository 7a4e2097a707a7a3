#include "agent/live/live_reclaim.h"

#include "agent/arch/atomic_add.h"
#include "agent/event/thread.h"
#include "agent/ground/barrier.h"
#include "agent/ground/lock.h"
#include "agent/ground/signal_bracket.h"
#include "agent/live/live_state.h"

// How much more there is to be, in cells, before all regions are looked at again.
#define PAUSE_MIN 512
#define PAUSE_LOG 4  /* as a share of what there is; twice that where nothing came of it */
#define WORTH_LOG 6  /* something did where such a share is free again */
#define PATIENCE  64 /* so many before it is looked again who is in the table */
#define LEAVES    4  /* that are looked at in one go */

/*
 * A handler that left the agent by longjmp may have left the middle of a use of the table, and may
 * come back into it: a scheduler of contexts does. Nobody is known to be outside any more.
 */
static bool someone_may_come_back(void)
{
	return __atomic_load_n(&process->header->losses[TRACE_LOSS_INTERRUPTED],
			       __ATOMIC_RELAXED) != 0;
}

/*
 * Whether each has been seen outside: one after the other, from one look to the next. A thread that
 * is not in the list yet sees what was marked before it was made.
 */
static bool all_were_outside(struct live_reclaim *reclaim, const struct thread *self)
{
	while (reclaim->inside && (reclaim->inside == self ||
				   !__atomic_load_n(&reclaim->inside->busy, __ATOMIC_ACQUIRE)))
		reclaim->inside = reclaim->inside->all_next;
	return !reclaim->inside && !__atomic_load_n(&reclaim->emptying, __ATOMIC_ACQUIRE) &&
	       !someone_may_come_back();
}

/* The next leaves, until some groups are leaving. */
static enum reclaim_found look(struct live_reclaim *reclaim, const struct block_table *table)
{
	enum reclaim_found found = RECLAIM_FOUND_NONE;

	for (int i = 0; found == RECLAIM_FOUND_NONE && i < LEAVES; i++)
		found = reclaim_begin(&reclaim->groups, table);
	return found;
}

/* All regions were looked at. Returns how much more there is to be until they are again. */
static uint32_t pause(struct live_reclaim *reclaim, uint32_t size)
{
	uint32_t ret = size >> PAUSE_LOG << (reclaim->freed < size >> WORTH_LOG);

	reclaim->freed = 0;
	return ret > PAUSE_MIN ? ret : PAUSE_MIN;
}

/* Returns how much more there is to be before the next step. */
static uint32_t go_on(struct live_reclaim *reclaim, struct live *live, const struct thread *self)
{
	uint32_t size = reclaim_size(&live->blocks), never = UINT32_MAX - size;

	if (someone_may_come_back())
		return never;
	if (!reclaim->groups.leaf) {
		switch (look(reclaim, &live->blocks)) {
		case RECLAIM_FOUND_END:
			return pause(reclaim, size);
		case RECLAIM_FOUND_NONE:
			return 1;
		case RECLAIM_FOUND_SOME:
			break;
		}
		if (!atomic_add_alone() && !barrier_pass_others())
			return never; // they leave, and nothing comes of it
		reclaim->inside = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);
	}
	if (!all_were_outside(reclaim, self))
		return PATIENCE;
	reclaim->freed += reclaim_end(&reclaim->groups, &live->blocks);
	return 1;
}

/* In a child that completes its parent's change of the table, that is no longer this process's. */
void live_reclaim_slow(struct thread *thread, struct live *live)
{
	struct live_reclaim *reclaim = &live->reclaim;
	struct signal_bracket bracket;

	if (process_system_calls_forbidden())
		return;
	signal_bracket_begin(&bracket);
	if (process->live == live && lock_try(&reclaim->lock)) {
		uint32_t due = reclaim_size(&live->blocks) + go_on(reclaim, live, thread);

		__atomic_store_n(&reclaim->due, due, __ATOMIC_RELAXED);
		lock_release(&reclaim->lock);
	}
	signal_bracket_end(&bracket);
}
