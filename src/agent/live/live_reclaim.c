#include "agent/live/live_reclaim.h"

#include "agent/arch/atomic_add.h"
#include "agent/event/thread.h"
#include "agent/ground/lock.h"
#include "agent/ground/signal_bracket.h"
#include "agent/live/live_state.h"

// By how many cells the table must grow before all regions are looked at again.
#define PAUSE_MIN 512
#define PAUSE_LOG 4  /* as a share of its size; twice that if the last round freed little */
#define WORTH_LOG 6  /* little: less than such a share */
#define PATIENCE  64 /* cells that the table grows by before the threads are looked at again */
#define LEAVES    4  /* leaves that one call looks at */
#define LOOKS_LOG 4  /* threads that are looked at for each cell that the table grows by */

/*
 * A handler may have left the agent by longjmp in the middle of a use of the table, and may come
 * back into it, as a scheduler of contexts does. Then no thread is known to be outside any more.
 */
static bool someone_may_come_back(void)
{
	return __atomic_load_n(&process->header->losses[TRACE_LOSS_INTERRUPTED],
			       __ATOMIC_RELAXED) != 0;
}

/*
 * Whether each thread was seen outside since the mark was set. This goes through the list, from one
 * call to the next. A thread that is not in the list yet was made after the mark, and sees it.
 */
static bool all_were_outside(struct live_reclaim *reclaim, const struct thread *self)
{
	while (reclaim->inside && (reclaim->inside == self ||
				   !__atomic_load_n(&reclaim->inside->busy, __ATOMIC_ACQUIRE))) {
		reclaim->inside = reclaim->inside->all_next;
		reclaim->looks++;
	}
	return !reclaim->inside && !__atomic_load_n(&reclaim->emptying, __ATOMIC_ACQUIRE) &&
	       !someone_may_come_back();
}

/* Looks at the next leaves, until some groups are leaving. */
static enum reclaim_found look_for_groups(struct live_reclaim *reclaim,
					  const struct block_table *table)
{
	enum reclaim_found found = RECLAIM_FOUND_NONE;

	for (int i = 0; found == RECLAIM_FOUND_NONE && i < LEAVES; i++)
		found = reclaim_begin(&reclaim->groups, table);
	return found;
}

/* All regions were looked at. Returns by how much the table must grow before the next round. */
static uint32_t end_round(struct live_reclaim *reclaim, uint32_t size)
{
	uint32_t ret = size >> PAUSE_LOG << (reclaim->freed < size >> WORTH_LOG);

	reclaim->freed = 0;
	return ret > PAUSE_MIN ? ret : PAUSE_MIN;
}

/* Does one step. Returns by how much the table must grow before the next one. */
static uint32_t go_on(struct live_reclaim *reclaim, struct live *live, const struct thread *self)
{
	uint32_t size = reclaim_size(&live->blocks), never = UINT32_MAX - size;

	if (someone_may_come_back())
		return never;
	if (!reclaim->groups.leaf) {
		switch (look_for_groups(reclaim, &live->blocks)) {
		case RECLAIM_FOUND_END:
			return end_round(reclaim, size);
		case RECLAIM_FOUND_NONE:
			return 1;
		case RECLAIM_FOUND_SOME:
			break;
		}
		if (!atomic_add_alone() && !barrier_pass_others())
			return never; // the groups keep the mark, and are never freed
		reclaim->inside = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);
		reclaim->looks = 0;
	}
	if (!all_were_outside(reclaim, self))
		return PATIENCE;
	reclaim->freed += reclaim_end(&reclaim->groups, &live->blocks);
	// With thousands of threads the looks cost more than what they free.
	return 1 + (reclaim->looks >> LOOKS_LOG);
}

/* Does nothing in a child that completes its parent's change: live is not process->live. */
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
