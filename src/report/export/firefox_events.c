#include "report/export/firefox_events.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_events.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"

void firefox_events_deinit(struct firefox_events *events)
{
	vec_deinit(&events->list);
	vec_deinit(&events->groups);
	free(events->single);
	map_deinit(&events->group_of);
}

uint64_t firefox_events_bytes(const struct recording *recording, uint64_t block)
{
	uint64_t mean = recording_facts(recording)->sample_mean;
	uint64_t size = recording_blocks(recording)->size[block];

	return mean ? size * sample_weight(mean, size, block + 1) : size;
}

/* --- which blocks are there one by one --- */

static struct err *choose_single(const struct export_subject *subject, uint64_t most,
				 struct firefox_events *events)
{
	uint64_t count = recording_blocks(subject->blocks)->count;
	const uint64_t *bits = subject->match ? subject->match->words : NULL;
	uint64_t matching = subject->match ? subject->match->count : count;
	const uint32_t *order;
	struct err *err;

	if (matching <= most)
		return NULL;
	events->folded = matching - most;
	events->single = calloc(count / 64 + 1, sizeof(*events->single));
	if (!events->single)
		return err_no_memory();
	err = recording_block_order(subject->blocks, BLOCK_ORDER_SIZE, &order);
	for (uint64_t i = count; !err && most && i-- > 0;) {
		if (!block_bits_has(bits, order[i]))
			continue;
		events->single[order[i] / 64] |= (uint64_t)1 << order[i] % 64;
		most--;
	}
	return err;
}

/* --- groups of the others --- */

/* Without its last digits a step is a longer one. */
static uint64_t key_of(const struct firefox_group *group)
{
	return (uint64_t)group->stack << 16 | (uint64_t)group->begin << 8 | group->end;
}

static uint8_t widen(const struct firefox_events *events, uint64_t step)
{
	return step == FIREFOX_STEPS ? FIREFOX_STEPS
				     : (uint8_t)(step >> events->shift << events->shift);
}

static bool add_group(struct firefox_events *events, struct firefox_group group)
{
	uint64_t *index;

	group.begin = widen(events, group.begin);
	group.end = widen(events, group.end);
	index = map_put(&events->group_of, key_of(&group));
	if (!index)
		return false;
	if (*index != MAP_NONE) {
		events->groups.items[*index].bytes += group.bytes;
		return true;
	}
	*index = events->groups.count;
	return vec_push(&events->groups, group);
}

/* Makes steps twice as long, and one group of those that have become alike. */
static bool join_groups(struct firefox_events *events)
{
	struct firefox_group *groups = events->groups.items;
	size_t count = events->groups.count;

	map_deinit(&events->group_of);
	events->group_of = (struct map){0};
	events->groups.count = 0;
	events->shift++;
	for (size_t i = 0; i < count; i++)
		if (!add_group(events,
			       groups[i])) // it has room: it takes the place of an older one
			return false;
	return true;
}

static uint64_t step_of(uint64_t time_ns, uint64_t duration_ns)
{
	return time_ns >= duration_ns
		       ? FIREFOX_STEPS - 1
		       : (uint64_t)((double)time_ns / (double)duration_ns * FIREFOX_STEPS);
}

static struct err *make_groups(const struct export_subject *subject, const uint32_t *stacks,
			       uint64_t most, struct firefox_events *events)
{
	const struct block_columns *blocks = recording_blocks(subject->blocks);
	uint64_t duration_ns = recording_facts(subject->blocks)->duration_ns;
	const uint64_t *bits = subject->match ? subject->match->words : NULL;

	BLOCK_BITS_EACH(bits, blocks->count, i)
	{
		struct firefox_group group = {
			.bytes = firefox_events_bytes(subject->blocks, i),
			.stack = stacks[blocks->site[i]],
			.begin = (uint8_t)step_of(blocks->allocated_ns[i], duration_ns),
			.end = FIREFOX_STEPS};

		if (block_bits_has(events->single, i))
			continue;
		if (blocks->freed_ns[i] != TIME_NEVER)
			group.end = (uint8_t)step_of(blocks->freed_ns[i], duration_ns);
		if (!add_group(events, group))
			return err_no_memory();
		while (events->groups.count > most && 1u << events->shift < FIREFOX_STEPS)
			if (!join_groups(events))
				return err_no_memory();
	}
	return NULL;
}

/* --- the order of all --- */

static bool add_event(struct firefox_events *events, uint64_t time_ns, uint64_t of, bool grouped,
		      bool freed)
{
	return vec_push(&events->list,
			(struct firefox_event){time_ns, (uint32_t)of, grouped, freed});
}

/* Adds what a group does at the end of its steps. What ends in the step that it began in goes at
 * once. */
static bool add_group_events(struct firefox_events *events, uint64_t duration_ns)
{
	for (size_t i = 0; i < events->groups.count; i++) {
		const struct firefox_group *group = &events->groups.items[i];
		uint64_t steps[2] = {group->begin, group->end};

		for (int end = 0; end < 2 && steps[end] < FIREFOX_STEPS; end++) {
			double part = (double)(steps[end] + (1u << events->shift)) / FIREFOX_STEPS;

			if (!add_event(events, (uint64_t)(part * (double)duration_ns), i, true,
				       end))
				return false;
		}
	}
	return true;
}

static int compare_events(const void *a, const void *b)
{
	const struct firefox_event *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->of != right->of)
		return left->of < right->of ? -1 : 1;
	return left->freed - right->freed;
}

static struct err *add_single_events(const struct export_subject *subject,
				     struct firefox_events *events)
{
	const uint64_t *bits = subject->match ? subject->match->words : NULL;
	struct block_events *walk = NULL;
	struct block_event event = {0};
	struct err *err =
		block_events_create(subject->blocks, events->single ? events->single : bits, &walk);

	while (!err && event.kind != BLOCK_EVENTS_END) {
		err = block_events_next(walk, &event);
		if (!err && event.kind != BLOCK_EVENTS_END &&
		    !add_event(events, event.time_ns, event.block, false,
			       event.kind == BLOCK_FREED))
			err = err_no_memory();
	}
	block_events_destroy(walk);
	return err;
}

/* Merges two runs, each in order: [0, middle) and the rest. */
static struct err *merge_runs(struct firefox_events *events, size_t middle)
{
	struct firefox_event *list = events->list.items;
	size_t count = events->list.count, left = 0, right = middle, to = 0;
	struct firefox_event *merged = malloc((count + 1) * sizeof(*merged));

	if (!merged)
		return err_no_memory();
	while (left < middle || right < count) {
		bool first = right == count ||
			     (left < middle && list[left].time_ns <= list[right].time_ns);

		merged[to++] = list[first ? left++ : right++];
	}
	free(list);
	events->list.items = merged;
	events->list.capacity = count + 1;
	return NULL;
}

struct err *firefox_events_create(const struct export_subject *subject, const uint32_t *stacks,
				  uint64_t most, struct firefox_events *ret)
{
	cleanup(firefox_events_deinit) struct firefox_events events = {0};
	struct err *err = choose_single(subject, most, &events);
	size_t groups;

	if (!err && events.single)
		err = make_groups(subject, stacks, most, &events);
	if (!err && !add_group_events(&events, recording_facts(subject->blocks)->duration_ns))
		err = err_no_memory();
	groups = events.list.count;
	if (!err && groups)
		qsort(events.list.items, groups, sizeof(*events.list.items), compare_events);
	if (!err)
		err = add_single_events(subject, &events);
	if (!err && groups)
		err = merge_runs(&events, groups);
	if (err)
		return err;
	*ret = events;
	events = (struct firefox_events){0};
	return NULL;
}
