#include "analysis/blocks/block_events.h"
#include "analysis/blocks/block_bits.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/files/spill.h"
#include "hosted/vec.h"

#define FEW 16 /* up to so many blocks are sorted by insertion */

struct freed_block {
	uint64_t time_ns;
	uint32_t block;
};

struct block_events {
	const struct block_columns *blocks;
	const uint64_t *matching; /* NULL: all */
	uint32_t *first;          /* for each turn, and behind the last: a block freed in it */
	uint32_t *next;           /* for each block, another one freed in the same turn */
	struct spill first_memory, next_memory;
	uint64_t turn;                 /* the turn whose frees are in `freed` */
	VEC(struct freed_block) freed; /* by time */
	size_t taken;                  /* how many of these were taken */
	uint64_t time_ns;              /* time of the event before */
};

void block_events_destroy(struct block_events *events)
{
	if (!events)
		return;
	spill_deinit(&events->first_memory);
	spill_deinit(&events->next_memory);
	vec_deinit(&events->freed);
	free(events);
}
CLEANUP_DEFINE(struct block_events *, block_events_destroy);

/* Puts each block into the list of the turn in which it was freed. */
static void make_lists(struct block_events *events)
{
	uint64_t count = events->blocks->count;

	events->first = events->first_memory.data;
	events->next = events->next_memory.data;
	memset(events->first, 0xff, (count + 1) * sizeof(*events->first));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t turn = events->blocks->free_turn[i];

		if (turn > count || !block_bits_has(events->matching, i))
			continue;
		events->next[i] = events->first[turn];
		events->first[turn] = (uint32_t)i;
	}
}

static int compare_freed(const void *a, const void *b)
{
	const struct freed_block *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->block < right->block ? -1 : left->block > right->block;
}

/* Sorts the freed blocks of a turn. Most turns have two or three. */
static void sort_freed(struct freed_block *freed, size_t count)
{
	if (count > FEW) {
		qsort(freed, count, sizeof(*freed), compare_freed);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		struct freed_block moved = freed[i];
		size_t to = i;

		for (; to && compare_freed(&moved, &freed[to - 1]) < 0; to--)
			freed[to] = freed[to - 1];
		freed[to] = moved;
	}
}

static struct err *take_turn(struct block_events *events)
{
	events->freed.count = events->taken = 0;
	for (uint32_t i = events->first[events->turn]; i != RECORDING_NONE; i = events->next[i]) {
		struct freed_block freed = {events->blocks->freed_ns[i], i};

		if (!vec_push(&events->freed, freed))
			return err_no_memory();
	}
	sort_freed(events->freed.items, events->freed.count);
	return NULL;
}

struct err *block_events_create(const struct recording *recording, const uint64_t *matching,
				struct block_events **ret)
{
	cleanup(block_events_destroy_at) struct block_events *events = calloc(1, sizeof(*events));
	const struct block_columns *blocks = recording_blocks(recording);
	size_t size = (blocks->count + 1) * sizeof(uint32_t);

	if (!events || !spill_grow(&events->first_memory, size) ||
	    !spill_grow(&events->next_memory, size))
		return err_no_memory();
	events->blocks = blocks;
	events->matching = matching;
	make_lists(events);
	block_events_rewind(events);
	*ret = steal(&events);
	return NULL;
}

void block_events_rewind(struct block_events *events)
{
	// The first turn has no frees: blocks from before the recording are not known.
	events->turn = events->time_ns = 0;
	events->freed.count = events->taken = 0;
}

/*
 * Sets an event. Times of different threads are rounded separately, so they may be out of order by
 * a nanosecond: then the time is raised.
 */
static void put_event(struct block_events *events, int kind, uint64_t block, uint64_t time_ns,
		      struct block_event *ret)
{
	if (time_ns > events->time_ns)
		events->time_ns = time_ns;
	*ret = (struct block_event){.kind = kind, .block = block, .time_ns = events->time_ns};
}

struct err *block_events_next(struct block_events *events, struct block_event *ret)
{
	for (;;) {
		uint64_t block = events->turn;
		struct err *err;

		if (events->taken < events->freed.count) {
			const struct freed_block *freed = &events->freed.items[events->taken++];

			put_event(events, BLOCK_FREED, freed->block, freed->time_ns, ret);
			return NULL;
		}
		if (block == events->blocks->count) {
			put_event(events, BLOCK_EVENTS_END, 0, 0, ret);
			return NULL;
		}
		events->turn++;
		err = take_turn(events);
		if (err)
			return err;
		if (!block_bits_has(events->matching, block))
			continue;
		put_event(events, BLOCK_ALLOCATED, block, events->blocks->allocated_ns[block], ret);
		return NULL;
	}
}
