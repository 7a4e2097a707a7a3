#include "analysis/sums/sums_change.h"

#include <stdlib.h>

#include "analysis/sums/sums_data.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/* A row of both sides, before rows are sorted. */
struct pair {
	struct sums_row sides[DIFF_SIDES];
	int64_t change;
	uint32_t number; /* in the order in which keys were met */
};

struct pairing {
	const struct sums_side *sides;
	struct intern texts; /* keys of groups that are not numbered alike */
	struct map of_text;  /* from the address of such a text to a number */
	struct map of_keys;  /* from the numbers of both keys to a pair */
	VEC(struct pair) pairs;
	struct buf scratch;
};

static void pairing_deinit(struct pairing *pairing)
{
	intern_deinit(&pairing->texts);
	map_deinit(&pairing->of_text);
	map_deinit(&pairing->of_keys);
	vec_deinit(&pairing->pairs);
	buf_deinit(&pairing->scratch);
}

void sums_change_deinit(struct sums_change *change)
{
	for (int side = 0; side < DIFF_SIDES; side++)
		free(change->rows[side]);
	*change = (struct sums_change){0};
}

static const struct block_groups *groups_of(const struct sums_side *side, bool second)
{
	return second ? side->query->second : side->query->first;
}

/* Whether a group has the same number on both sides. */
static bool is_numbered_alike(const struct sums_side *sides, bool second)
{
	const struct block_groups *groups = groups_of(&sides[DIFF_AFTER], second);

	return !groups || groups == groups_of(&sides[DIFF_BEFORE], second) ||
	       block_groups_of_sites(groups);
}

static void put_thread(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(groups->recording, &count);

	if (group < count)
		buf_text(buf, threads[group].name);
	else
		buf_char(buf, 0); // freed by no thread
}

/* A pool without a name is the one at its address. */
static void put_pool(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(groups->recording, &count);

	if (group >= count)
		buf_char(buf, 0);
	else if (*pools[group].name)
		buf_text(buf, pools[group].name);
	else
		buf_put(buf, &pools[group].address, sizeof(pools[group].address));
}

static void put_range(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	uint64_t range[2] = {0};

	if (block_groups_range(groups, group, &range[0], &range[1]))
		buf_put(buf, range, sizeof(range));
}

/*
 * Appends the key of a group: equal keys, the same group. Threads, marks and pools are the same if
 * their names are, parts of the run if their numbers are, and what has a range if that is. Not for
 * groups of sites, which are the same by their numbers on common stacks (diff.h).
 */
static void put_group(struct buf *buf, const struct block_groups *groups, uint32_t group)
{
	switch (groups->by) {
	case BLOCK_GROUPS_THREAD:
	case BLOCK_GROUPS_FREE_THREAD:
		put_thread(buf, groups, group);
		return;
	case BLOCK_GROUPS_MARK:
		buf_text(buf, group ? groups->marks[group - 1] : "");
		return;
	case BLOCK_GROUPS_POOL:
		put_pool(buf, groups, group);
		return;
	case BLOCK_GROUPS_SIZE:
	case BLOCK_GROUPS_LIFETIME:
	case BLOCK_GROUPS_TAG:
		put_range(buf, groups, group);
		return;
	default:
		buf_put(buf, &group, sizeof(group));
	}
}

/* *ret: a number that is the same for the same group of either side. */
static struct err *number_of(struct pairing *pairing, int side, bool second, uint32_t group,
			     uint32_t *ret)
{
	struct buf *scratch = &pairing->scratch;
	const char *text;
	uint64_t *number;

	*ret = group;
	if (group == RECORDING_NONE || is_numbered_alike(pairing->sides, second))
		return NULL;
	scratch->size = 0;
	buf_char(scratch, second);
	put_group(scratch, groups_of(&pairing->sides[side], second), group);
	if (!buf_string(scratch))
		return buf_finish(scratch);
	text = intern_bytes(&pairing->texts, scratch->data, scratch->size);
	number = text ? map_put(&pairing->of_text, (uintptr_t)text) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE)
		*number = pairing->of_text.count - 1;
	*ret = (uint32_t)*number;
	return NULL;
}

/* *ret: the pair of a row's keys, made if it is new. */
static struct err *find_pair(struct pairing *pairing, int side, const struct sums_row *row,
			     struct pair **ret)
{
	struct pair empty = {.number = (uint32_t)pairing->pairs.count};
	uint32_t first = 0, second = 0;
	struct err *err = number_of(pairing, side, false, row->first, &first);
	uint64_t *place;

	if (!err)
		err = number_of(pairing, side, true, row->second, &second);
	if (err)
		return err;
	for (int i = 0; i < DIFF_SIDES; i++) {
		empty.sides[i].first = empty.sides[i].second = RECORDING_NONE;
		if (is_numbered_alike(pairing->sides, false))
			empty.sides[i].first = row->first;
		if (is_numbered_alike(pairing->sides, true))
			empty.sides[i].second = row->second;
	}
	place = map_put(&pairing->of_keys, (uint64_t)first << 32 | second);
	if (!place)
		return err_no_memory();
	if (*place == MAP_NONE) {
		*place = pairing->pairs.count;
		if (!vec_push(&pairing->pairs, empty))
			return err_no_memory();
	}
	*ret = &pairing->pairs.items[*place];
	return NULL;
}

static struct err *add_row(struct pairing *pairing, int side, const struct sums_row *row)
{
	struct pair *pair = NULL;
	struct err *err = find_pair(pairing, side, row, &pair);
	struct sums_row *sum;

	if (err)
		return err;
	sum = &pair->sides[side];
	if (sums_row_is_empty(sum)) {
		*sum = *row;
		return NULL;
	}
	sum->sum.own_peak_bytes = 0;
	sum->of_sites = true;
	sums_row_add(sum, row);
	return NULL;
}

int64_t sums_change_of(const struct sums_side *sides, enum sums_order order,
		       const struct sums_row *before, const struct sums_row *after)
{
	int64_t then, now;

	if (order != SUMS_GROWTH)
		return (int64_t)(sums_number(order, after) - sums_number(order, before));
	then = sums_growth(sides[DIFF_BEFORE].sums, before);
	now = sums_growth(sides[DIFF_AFTER].sums, after);
	return (int64_t)((uint64_t)now - (uint64_t)then);
}

static int by_change(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;
	uint64_t of_a = a->change < 0 ? -(uint64_t)a->change : (uint64_t)a->change;
	uint64_t of_b = b->change < 0 ? -(uint64_t)b->change : (uint64_t)b->change;

	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Keeps the pairs that changed, sorted. */
static struct err *take_changed(struct pairing *pairing, enum sums_order order, bool descending,
				struct sums_change *ret)
{
	struct pair *pairs = pairing->pairs.items;
	uint32_t count = 0;

	for (size_t i = 0; i < pairing->pairs.count; i++) {
		pairs[i].change =
			sums_change_of(pairing->sides, order, &pairs[i].sides[DIFF_BEFORE],
				       &pairs[i].sides[DIFF_AFTER]);
		if (pairs[i].change)
			pairs[count++] = pairs[i];
	}
	if (count)
		qsort(pairs, count, sizeof(*pairs), by_change);
	for (int side = 0; side < DIFF_SIDES; side++) {
		ret->rows[side] = malloc((count + 1u) * sizeof(struct sums_row));
		if (!ret->rows[side])
			return err_no_memory();
		for (uint32_t i = 0; i < count; i++)
			ret->rows[side][i] = pairs[descending ? i : count - 1 - i].sides[side];
	}
	ret->count = count;
	return NULL;
}

struct err *sums_change_create(const struct sums_side sides[DIFF_SIDES], enum sums_order order,
			       bool descending, struct sums_change *ret)
{
	cleanup(pairing_deinit) struct pairing pairing = {.sides = sides, .scratch = BUF_EMPTY};
	struct err *err = NULL;

	// What is after comes first: equal changes are in the order of its keys.
	for (int side = DIFF_SIDES; !err && side-- > 0;)
		for (uint32_t i = 0; !err && i < sides[side].sums->count; i++)
			err = add_row(&pairing, side, &sides[side].sums->rows[i]);
	return err ? err : take_changed(&pairing, order, descending, ret);
}
