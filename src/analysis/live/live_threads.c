/*
 * Sums up threads of the same name: their numbers, and who freed whose blocks. Here a thread is an
 * entry of the table, and a group is a name.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/live/live_load.h"
#include "hosted/cleanup.h"

struct grouping {
	struct recording *recording;
	const struct live_snapshot *snapshot;
	uint32_t *groups;         /* for each thread its group */
	struct live_freed *freed; /* [freeing * groups + owner] */
};

static void grouping_deinit(struct grouping *grouping)
{
	free(grouping->groups);
	free(grouping->freed);
}

/* Whether the entry was ever used. Entry 0 stands for threads without an entry. */
static bool is_used(const struct live_snapshot *snapshot, uint32_t number)
{
	const struct live_thread *thread = &snapshot->threads[number];

	if (thread->state != LIVE_THREAD_NONE || thread->calls)
		return true;
	for (uint32_t i = 0; i < snapshot->thread_count; i++)
		if (snapshot->freed[(size_t)number * snapshot->thread_count + i].calls)
			return true;
	return false;
}

/* *ret: the group of a name; it is made if it is new. */
static struct err *find_group(struct live_data *live, const char *name, uint32_t *ret)
{
	for (*ret = 0; *ret < live->threads.count; ++*ret)
		if (strcmp(live->threads.items[*ret].name, name) == 0)
			return NULL;
	return vec_push(&live->threads, (struct thread_sums){.name = name}) ? NULL
									    : err_no_memory();
}

static uint64_t whole(const struct grouping *grouping, uint64_t calls)
{
	return grouping->recording->facts.sample_mean
		       ? (calls + LIVE_WEIGHT_ONE / 2) / LIVE_WEIGHT_ONE
		       : calls;
}

static struct err *make_groups(struct grouping *grouping)
{
	const struct live_snapshot *snapshot = grouping->snapshot;
	struct live_data *live = &grouping->recording->tables->live;
	size_t first = grouping->recording->tables->threads.count - snapshot->thread_count;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < snapshot->thread_count; i++) {
		const char *name = grouping->recording->tables->threads.items[first + i].name;

		grouping->groups[i] = RECORDING_NONE;
		if (!is_used(snapshot, i))
			continue;
		err = find_group(live, name, &grouping->groups[i]);
		if (err)
			return err;

		struct thread_sums *sums = &live->threads.items[grouping->groups[i]];

		sums->threads++;
		sums->allocated_bytes += snapshot->threads[i].bytes;
		sums->allocated_blocks += whole(grouping, snapshot->threads[i].calls);
	}
	return err;
}

/* Sums up by groups who freed whose blocks. Unused entries are ignored. */
static struct err *sum_up_freed(struct grouping *grouping)
{
	const struct live_snapshot *snapshot = grouping->snapshot;
	size_t count = grouping->recording->tables->live.threads.count,
	       threads = snapshot->thread_count;

	grouping->freed = calloc(count * count + 1, sizeof(*grouping->freed));
	if (!grouping->freed)
		return err_no_memory();
	for (size_t freeing = 0; freeing < threads; freeing++) {
		for (size_t owner = 0; owner < threads; owner++) {
			const struct live_freed *freed =
				&snapshot->freed[freeing * threads + owner];
			size_t row = grouping->groups[freeing], column = grouping->groups[owner];

			if (row == RECORDING_NONE || column == RECORDING_NONE)
				continue;
			grouping->freed[row * count + column].calls += freed->calls;
			grouping->freed[row * count + column].bytes += freed->bytes;
		}
	}
	return NULL;
}

/* Sets what the group freed, and who freed how much of its blocks. */
static struct err *take_freed(struct grouping *grouping, uint32_t group)
{
	struct live_data *live = &grouping->recording->tables->live;
	struct thread_sums *sums = &live->threads.items[group];
	uint32_t count = (uint32_t)live->threads.count;

	for (uint32_t other = 0; other < count; other++) {
		const struct live_freed *by = &grouping->freed[(size_t)other * count + group];
		const struct live_freed *of = &grouping->freed[(size_t)group * count + other];
		struct thread_handover handover = {other, by->bytes, whole(grouping, by->calls)};

		sums->freed_bytes += of->bytes;
		sums->freed_blocks += whole(grouping, of->calls);
		sums->allocated_freed_bytes += by->bytes;
		sums->allocated_freed_blocks += handover.blocks;
		if (other == group || !by->calls)
			continue;
		if (!vec_push(&live->handovers, handover))
			return err_no_memory();
		sums->freed_by_others_count++;
	}
	if (sums->allocated_bytes > sums->allocated_freed_bytes)
		sums->in_use_bytes = sums->allocated_bytes - sums->allocated_freed_bytes;
	if (sums->allocated_blocks > sums->allocated_freed_blocks)
		sums->in_use_blocks = sums->allocated_blocks - sums->allocated_freed_blocks;
	return NULL;
}

struct err *live_threads_merge(struct recording *recording, const struct live_snapshot *snapshot)
{
	cleanup(grouping_deinit) struct grouping grouping = {
		.recording = recording,
		.snapshot = snapshot,
		.groups = calloc((size_t)snapshot->thread_count + 1, sizeof(*grouping.groups)),
	};
	struct live_data *live = &recording->tables->live;
	struct err *err;
	size_t first = 0;

	if (!grouping.groups)
		return err_no_memory();
	err = make_groups(&grouping);
	if (!err)
		err = sum_up_freed(&grouping);
	for (uint32_t i = 0; !err && i < live->threads.count; i++)
		err = take_freed(&grouping, i);
	if (err)
		return err;
	// Set pointers now, because the handovers do not move any more.
	for (uint32_t i = 0; live->handovers.count && i < live->threads.count; i++) {
		live->threads.items[i].freed_by_others = live->handovers.items + first;
		first += live->threads.items[i].freed_by_others_count;
	}
	live->facts.threads = live->threads.items;
	live->facts.thread_count = (uint32_t)live->threads.count;
	return NULL;
}
