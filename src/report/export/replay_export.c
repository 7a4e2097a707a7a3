#include "report/export/replay_export.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_events.h"
#include "analysis/blocks/block_bits.h"
#include "hosted/cleanup.h"
#include "hosted/files/spill.h"
#include "hosted/vec.h"

#define NO_SLOT          UINT32_MAX
#define NS_PER_US        1000
#define EVENTS_AT_A_TIME 1024

enum { END, ALLOCATE, FREE, REALLOCATE, CALL, RETURN };

struct replay_export {
	const struct recording *recording;
	const struct block_columns *blocks;
	const struct filter_match *match; /* NULL: all blocks */
	struct block_events *events;
	struct spill slots;          /* a uint32_t for each block; NO_SLOT: none yet */
	VEC(uint32_t) unused;        /* slots that are free again */
	uint32_t slot_count;         /* how many slots were ever used */
	VEC(uint32_t) stack, wanted; /* nodes: outermost first; innermost first */
	bool begun;
};

void replay_export_destroy(struct replay_export *export)
{
	if (!export)
		return;
	block_events_destroy(export->events);
	spill_deinit(&export->slots);
	vec_deinit(&export->unused);
	vec_deinit(&export->stack);
	vec_deinit(&export->wanted);
	free(export);
}
CLEANUP_DEFINE(struct replay_export *, replay_export_destroy);

static uint32_t *slot_of(const struct replay_export *export, uint64_t block)
{
	return (uint32_t *)export->slots.data + block;
}

static void begin_walk(struct replay_export *export)
{
	memset(export->slots.data, 0xff, export->blocks->count * sizeof(uint32_t));
	export->unused.count = 0;
	export->slot_count = 0;
	block_events_rewind(export->events);
}

/*
 * The block that a realloc made of this one. RECORDING_NONE: none, or it is left out, so this one
 * is freed.
 */
static uint32_t replacement(const struct replay_export *export, uint64_t block)
{
	uint32_t successor = export->blocks->successor[block];

	if (successor == RECORDING_NONE || !export->match ||
	    block_bits_has(export->match->words, successor))
		return successor;
	return RECORDING_NONE;
}

/*
 * Gives the event its slot. *ret: the step to write; END: none, because the realloc's other half
 * follows.
 */
static struct err *take_event(struct replay_export *export, const struct block_event *event,
			      uint64_t *ret)
{
	uint32_t *slot = slot_of(export, event->block);
	uint32_t successor;

	if (event->kind == BLOCK_ALLOCATED) {
		*ret = *slot == NO_SLOT ? ALLOCATE : REALLOCATE;
		if (*slot == NO_SLOT)
			*slot = export->unused.count ? export->unused.items[--export->unused.count]
						     : export->slot_count++;
		return NULL;
	}
	successor = replacement(export, event->block);
	*ret = successor == RECORDING_NONE ? FREE : END;
	if (successor == RECORDING_NONE)
		return vec_push(&export->unused, *slot) ? NULL : err_no_memory();
	*slot_of(export, successor) = *slot;
	return NULL;
}

/* Counts the slots, because the file begins with their number. */
static struct err *count_slots(struct replay_export *export)
{
	struct block_event event;
	uint64_t step;
	struct err *err;

	begin_walk(export);
	for (;;) {
		err = block_events_next(export->events, &event);
		if (err || event.kind == BLOCK_EVENTS_END)
			return err;
		err = take_event(export, &event, &step);
		if (err)
			return err;
	}
}

struct err *replay_export_create(const struct recording *recording,
				 const struct filter_match *match, struct replay_export **ret)
{
	cleanup(replay_export_destroy_at) struct replay_export *export = calloc(1, sizeof(*export));
	struct err *err;

	if (!export)
		return err_no_memory();
	export->recording = recording;
	export->blocks = recording_blocks(recording);
	export->match = match;
	if (!spill_grow(&export->slots, (export->blocks->count + 1) * sizeof(uint32_t)))
		return err_no_memory();
	err = block_events_create(recording, match ? match->words : NULL, &export->events);
	if (!err)
		err = count_slots(export);
	if (err)
		return err;
	*ret = steal(&export);
	return NULL;
}

static void put_step(struct buf *buf, uint64_t kind, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t step[] = {kind, a, b, c};

	buf_put(buf, step, sizeof(step));
}

/*
 * Writes the returns and calls that lead from the present stack to the block's. Equal nodes are
 * equal stacks.
 */
static struct err *put_stack(struct replay_export *export, struct buf *buf, uint64_t block)
{
	uint32_t count, shared = 0;
	const struct stack_node *nodes = recording_stacks(export->recording, &count);
	const struct site *sites = recording_sites(export->recording, &count);

	export->wanted.count = 0;
	for (uint32_t node = sites[export->blocks->site[block]].stack; node != RECORDING_NONE;
	     node = nodes[node].parent)
		if (!vec_push(&export->wanted, node))
			return err_no_memory();
	while (shared < export->stack.count && shared < export->wanted.count &&
	       export->stack.items[shared] ==
		       export->wanted.items[export->wanted.count - 1 - shared])
		shared++;
	for (; export->stack.count > shared; export->stack.count--)
		put_step(buf, RETURN, 0, 0, 0);
	for (; shared < export->wanted.count; shared++) {
		uint32_t node = export->wanted.items[export->wanted.count - 1 - shared];

		if (!vec_push(&export->stack, node))
			return err_no_memory();
		put_step(buf, CALL, nodes[node].frame, 0, 0);
	}
	return NULL;
}

static struct err *put_event(struct replay_export *export, struct buf *buf,
			     const struct block_event *event)
{
	uint64_t step;
	struct err *err = take_event(export, event, &step);

	if (!err && event->kind == BLOCK_ALLOCATED)
		err = put_stack(export, buf, event->block);
	if (!err && step != END)
		put_step(buf, step, *slot_of(export, event->block), event->time_ns / NS_PER_US,
			 step == FREE ? 0 : export->blocks->size[event->block]);
	return err;
}

struct err *replay_export_more(struct replay_export *export, struct buf *buf, bool *done)
{
	struct block_event event;
	struct err *err;

	*done = false;
	if (!export->begun) {
		uint64_t slot_count = export->slot_count;

		buf_put(buf, &slot_count, sizeof(slot_count));
		begin_walk(export);
		export->begun = true;
	}
	for (int i = 0; !*done && i < EVENTS_AT_A_TIME; i++) {
		err = block_events_next(export->events, &event);
		if (err)
			return err;
		*done = event.kind == BLOCK_EVENTS_END;
		if (!*done)
			err = put_event(export, buf, &event);
		if (err)
			return err;
	}
	if (*done)
		put_step(buf, END, 0, 0, 0);
	return NULL;
}

struct err *replay_export_write(struct buf *buf, const struct recording *recording,
				const struct filter_match *match)
{
	cleanup(replay_export_destroy_at) struct replay_export *export = NULL;
	struct err *err = replay_export_create(recording, match, &export);
	bool done = false;

	while (!err && !done)
		err = replay_export_more(export, buf, &done);
	return err;
}
