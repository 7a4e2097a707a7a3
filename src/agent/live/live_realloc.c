/* Reallocs: the old block is taken out before, and put back if the realloc failed. */
#include "agent/event/sink.h"
#include "agent/live/live.h"
#include "agent/live/live_count.h"

/*
 * Around the part of a realloc that comes before its event: sets `busy`, so that a handler finds
 * the agent busy. In a handler that interrupted the agent it is set already; returns false then.
 */
static bool begin_busy(struct thread *thread)
{
	if (thread->busy)
		return false;
	thread_begin_record(thread);
	return true;
}

static void end_busy(struct thread *thread, bool begun)
{
	if (begun)
		thread_end_record(thread);
}

/* A handler that comes in between and calls realloc, too, takes another place. */
static uint32_t take_for_realloc(struct thread *thread, struct live *live, uint64_t address)
{
	struct live_own *own = thread->live;
	struct live_taken *place = &own->taken[own->next++ % LIVE_TAKEN];
	struct live_taken taken = {.address = address};

	if (!live_take(thread, live, address, &taken.block))
		return SINK_UNKNOWN;
	live_count_end(thread, live, &taken.block);
	*place = taken;
	return SINK_RECORDED;
}

uint32_t live_begins_realloc(struct thread *thread, const void *old)
{
	uint32_t ret = SINK_UNKNOWN;
	struct live *live;
	bool begun;

	if (!old || !thread->live)
		return ret;
	begun = begin_busy(thread);
	// Read only now: a handler may fork before, and its child begin a table of its own.
	live = __atomic_load_n(&process->live, __ATOMIC_RELAXED);
	if (live && live_may_have((uint64_t)old))
		ret = take_for_realloc(thread, live, (uint64_t)old);
	end_busy(thread, begun);
	return ret;
}

/* Takes back what live_count_end() counted. */
static void retract_end(struct thread *thread, struct live *live, const struct known_block *block)
{
	const struct live_sums *sums = live_sums(thread, live);
	struct weight weight = weight_of(block->size);
	struct weight less = {.calls = -weight.calls, .bytes = -weight.bytes};

	live_count_end_as(live_threads_own(sums), sums, live, block, less);
}

/* The latest block that was taken at that address. NULL: too many were taken since. */
static struct live_taken *find_taken(struct live_own *own, uint64_t address)
{
	for (uint32_t i = 1; i <= LIVE_TAKEN; i++) {
		struct live_taken *taken = &own->taken[(own->next - i) % LIVE_TAKEN];

		if (taken->address == address)
			return taken;
	}
	return NULL;
}

static void put_back(struct thread *thread, struct live *live, struct live_taken *taken)
{
	struct known_block stale;

	if (block_table_put(&live->blocks, &thread->live->near, taken->address, &taken->block,
			    &stale)) {
		if (live_takes_samples())
			live_sampled_note(taken->address, true);
		retract_end(thread, live, &taken->block);
	}
	taken->address = 0;
}

void live_fails_realloc(struct thread *thread, const void *old, uint32_t before)
{
	struct live_taken *taken;
	struct live *live;
	bool begun;

	if (before != SINK_RECORDED || !thread->live)
		return;
	begun = begin_busy(thread);
	live = __atomic_load_n(&process->live, __ATOMIC_RELAXED);
	taken = live ? find_taken(thread->live, (uint64_t)old) : NULL;
	if (taken)
		put_back(thread, live, taken);
	end_busy(thread, begun);
}
