/* Evaluates a filter: one pass over a column for each condition. */
#include <string.h>

#include "analysis/filter/filter_chains.h"
#include "analysis/filter/filter_data.h"
#include "analysis/filter/filter_pools.h"
#include "analysis/filter/filter_sites.h"
#include "hosted/cleanup.h"

/* Both bounds are inclusive. min above max: nothing is in the range. */
struct range {
	uint64_t min, max;
};

#define RANGE_ALL ((struct range){0, UINT64_MAX})

static bool is_all(struct range range)
{
	return range.min == 0 && range.max == UINT64_MAX;
}

static bool is_in(uint64_t value, struct range range)
{
	return value - range.min <= range.max - range.min;
}

/*
 * Removes the blocks from the match for which the condition does not hold. The condition is an
 * expression of i, the block. 64 blocks are evaluated at a time, without a branch; groups in which
 * no block is left are skipped.
 */
#define KEEP(match, condition)                                                                     \
	for (uint64_t word = 0; word * 64 < (match)->blocks; word++) {                             \
		uint64_t end =                                                                     \
			(match)->blocks - word * 64 < 64 ? (match)->blocks - word * 64 : 64;       \
		uint64_t bits = 0;                                                                 \
                                                                                                   \
		if (!(match)->words[word])                                                         \
			continue;                                                                  \
		for (uint64_t bit = 0; bit < end; bit++) {                                         \
			uint64_t i = word * 64 + bit;                                              \
                                                                                                   \
			bits |= (uint64_t)(condition) << bit;                                      \
		}                                                                                  \
		(match)->words[word] &= bits;                                                      \
	}

static void keep_none(struct filter_match *match)
{
	memset(match->words, 0, (match->blocks + 63) / 64 * sizeof(*match->words));
}

/*
 * Whether no block needs to be looked at: the range contains everything, or nothing (then no block
 * is left).
 */
static bool is_settled(struct filter_match *match, struct range range)
{
	if (range.min > range.max)
		keep_none(match);
	return is_all(range) || range.min > range.max;
}

static void keep_range(struct filter_match *match, const uint64_t *column, struct range range)
{
	if (!is_settled(match, range)) {
		KEEP(match, is_in(column[i], range));
	}
}

/*
 * Keeps blocks for which left - right is in the range. If left is TIME_NEVER, so is the difference.
 */
static void keep_difference(struct filter_match *match, const uint64_t *left, const uint64_t *right,
			    struct range range)
{
	if (!is_settled(match, range)) {
		KEEP(match, is_in(left[i] == TIME_NEVER ? TIME_NEVER : left[i] - right[i], range));
	}
}

static void keep_slack(struct filter_match *match, const uint32_t *column, struct range range)
{
	if (!is_settled(match, range)) {
		KEEP(match, is_in(column[i], range));
	}
}

/* Keeps blocks whose column is the index of a 1 in marked. */
static void keep_marked(struct filter_match *match, const uint32_t *column, const uint8_t *marked)
{
	KEEP(match, marked[column[i]]);
}

static void keep_tag(struct filter_match *match, const struct filter *filter, enum filter_id id,
		     const uint32_t *column)
{
	uint64_t tag = filter->conditions[id].number;

	if (!filter_has(filter, id))
		return;
	if (column) {
		KEEP(match, column[i] == tag);
	} else if (tag) {
		keep_none(match);
	}
}

/* The range of a pair of conditions, of which `min` is the first. */
static struct range range_of(const struct filter *filter, enum filter_id min)
{
	const struct filter_condition *low = &filter->conditions[min], *high = low + 1;

	return (struct range){
		.min = low->name ? low->number : 0,
		.max = high->name ? high->number : UINT64_MAX,
	};
}

/* When matching blocks were allocated and freed. TIME_NEVER counts as larger than all times. */
struct times {
	struct range allocated, freed;
	bool none; /* a moment is before the start: nothing matches */
};

static void at_most(struct times *times, uint64_t *max, int64_t bound)
{
	times->none |= bound < 0;
	if (bound >= 0 && (uint64_t)bound < *max)
		*max = (uint64_t)bound;
}

static void at_least(uint64_t *min, int64_t bound)
{
	if (bound > 0 && (uint64_t)bound > *min)
		*min = (uint64_t)bound;
}

/* Resolves the moment of a condition. *set: whether the filter has the condition. */
static struct err *resolve(const struct filter *filter, const struct recording *recording,
			   enum filter_id id, bool *set, int64_t *ret)
{
	const struct filter_condition *condition = &filter->conditions[id];
	bool end_of_second = id == FILTER_TO || id == FILTER_UNTIL;

	*set = filter_has(filter, id);
	if (!*set)
		return NULL;
	return err_prefix(moment_resolve(&condition->moment, recording, end_of_second, ret), "%s",
			  condition->name);
}

static struct err *find_moments(const struct filter *filter, const struct recording *recording,
				struct times *times)
{
	static const enum filter_id ids[] = {FILTER_FROM, FILTER_TO, FILTER_UNTIL, FILTER_ALIVE_AT,
					     FILTER_ALIVE_AT_2};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		int64_t moment = 0;
		bool set;
		struct err *err = resolve(filter, recording, ids[i], &set, &moment);

		if (err)
			return err;
		if (!set)
			continue;
		if (ids[i] == FILTER_FROM)
			at_least(&times->allocated.min, moment);
		else
			at_most(times, &times->allocated.max, moment);
		if ((ids[i] == FILTER_ALIVE_AT || ids[i] == FILTER_ALIVE_AT_2) &&
		    moment < INT64_MAX)
			at_least(&times->freed.min, moment + 1);
	}
	return NULL;
}

/*
 * Sets the range that the condition lifetime means. to: the end of the range that two of its values
 * speak of; TIME_NEVER: none.
 */
static void find_lifetime(const struct filter *filter, uint64_t to, struct times *times)
{
	struct range *freed = &times->freed;
	uint64_t end = to == TIME_NEVER ? TIME_NEVER - 1 : to;

	if (!filter_has(filter, FILTER_LIFETIME))
		return;
	switch ((enum filter_lifetime)filter->conditions[FILTER_LIFETIME].number) {
	case FILTER_LIFETIME_ALL:
	case FILTER_LIFETIME_CHAIN_LEAKED:
		break;
	case FILTER_LIFETIME_LEAKED:
	case FILTER_LIFETIME_GROUP_LEAKED:
		freed->min = TIME_NEVER;
		break;
	case FILTER_LIFETIME_NOT_FREED_IN_RANGE:
		freed->min = end + 1 > freed->min ? end + 1 : freed->min;
		break;
	case FILTER_LIFETIME_FREED_IN_RANGE:
		freed->max = end;
		break;
	case FILTER_LIFETIME_FREED:
		freed->max = TIME_NEVER - 1;
		break;
	}
}

static struct err *keep_times(const struct filter *filter, const struct recording *recording,
			      struct filter_match *match)
{
	const struct block_columns *blocks = recording_blocks(recording);
	struct times times = {.allocated = RANGE_ALL, .freed = RANGE_ALL};
	int64_t ends[2] = {INT64_MAX, INT64_MAX};
	struct err *err = find_moments(filter, recording, &times);
	bool to = false, until = false;

	if (!err)
		err = resolve(filter, recording, FILTER_TO, &to, &ends[0]);
	if (!err)
		err = resolve(filter, recording, FILTER_UNTIL, &until, &ends[1]);
	if (err)
		return err;
	if (times.none) {
		keep_none(match);
		return NULL;
	}
	find_lifetime(filter,
		      to || until ? (uint64_t)(ends[0] < ends[1] ? ends[0] : ends[1]) : TIME_NEVER,
		      &times);
	keep_range(match, blocks->allocated_ns, times.allocated);
	keep_range(match, blocks->freed_ns, times.freed);
	keep_difference(match, blocks->freed_ns, blocks->allocated_ns,
			range_of(filter, FILTER_LIFETIME_MIN));
	return NULL;
}

/*
 * Keeps blocks by a heap flag, which only glibc's allocator has. Choice 0 of the condition wants
 * the flag to be as `set`.
 */
static void keep_flag(struct filter_match *match, const struct filter *filter, enum filter_id id,
		      const struct recording *recording, uint8_t flag, bool set)
{
	const uint8_t *flags = recording_blocks(recording)->heap_flags;
	bool wanted = (filter->conditions[id].number == 0) == set;

	if (!filter_has(filter, id))
		return;
	if (recording_facts(recording)->allocator != TRACE_ALLOCATOR_GLIBC)
		return keep_none(match);
	KEEP(match, ((flags[i] & flag) != 0) == wanted);
}

static struct err *keep_thread(struct filter_match *match, const struct filter *filter,
			       const struct recording *recording)
{
	const struct filter_condition *condition = &filter->conditions[FILTER_THREAD];
	auto_free uint8_t *wanted = NULL;
	const struct recorded_thread *threads;
	uint32_t count;

	if (!filter_has(filter, FILTER_THREAD))
		return NULL;
	threads = recording_threads(recording, &count);
	wanted = malloc((size_t)count + 1);
	if (!wanted)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		char tid[16];

		snprintf(tid, sizeof(tid), "%u", threads[i].tid);
		wanted[i] = strcmp(condition->text, tid) == 0 ||
			    strcmp(condition->text, threads[i].name) == 0;
	}
	keep_marked(match, recording_blocks(recording)->thread, wanted);
	return NULL;
}

static struct err *keep_pool(struct filter_match *match, const struct filter *filter,
			     const struct recording *recording)
{
	cleanup(filter_pool_deinit) struct filter_pool pool = {0};
	const struct block_columns *blocks = recording_blocks(recording);
	struct err *err;

	if (!filter_has(filter, FILTER_POOL))
		return NULL;
	err = filter_pool_create(recording, filter->conditions[FILTER_POOL].text, &pool);
	if (err)
		return err;
	KEEP(match, match->words[word] >> bit & 1 && filter_pool_is_in(&pool, blocks, i));
	return NULL;
}

static struct err *keep_chain(struct filter_match *match, const struct block_columns *blocks,
			      enum chain_value value, struct range range)
{
	auto_free uint64_t *values = NULL;

	if (is_all(range))
		return NULL;
	values = malloc((blocks->count + 1) * sizeof(*values));
	if (!values)
		return err_no_memory();
	chain_values(blocks, value, values);
	keep_range(match, values, range);
	return NULL;
}

static struct err *keep_chains(struct filter_match *match, const struct filter *filter,
			       const struct block_columns *blocks)
{
	static const struct {
		enum filter_id min;
		enum chain_value value;
	} pairs[] = {
		{FILTER_CHAIN_LENGTH_MIN, CHAIN_LENGTH},
		{FILTER_CHAIN_LIFETIME_MIN, CHAIN_LIFETIME},
		{FILTER_POSITION_IN_CHAIN_MIN, CHAIN_POSITION},
		{FILTER_FIRST_SIZE_MIN, CHAIN_FIRST_SIZE},
		{FILTER_LAST_SIZE_MIN, CHAIN_LAST_SIZE},
	};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < sizeof(pairs) / sizeof(pairs[0]); i++)
		err = keep_chain(match, blocks, pairs[i].value, range_of(filter, pairs[i].min));
	if (!err && filter_has(filter, FILTER_LIFETIME) &&
	    filter->conditions[FILTER_LIFETIME].number == FILTER_LIFETIME_CHAIN_LEAKED)
		err = keep_chain(match, blocks, CHAIN_FREED,
				 (struct range){TIME_NEVER, TIME_NEVER});
	return err;
}

static struct err *keep_blocks(const struct filter *filter, const struct recording *recording,
			       struct filter_match *match)
{
	const struct block_columns *blocks = recording_blocks(recording);
	struct err *err = keep_times(filter, recording, match);

	if (!err)
		err = keep_thread(match, filter, recording);
	if (err)
		return err;
	keep_range(match, blocks->size, range_of(filter, FILTER_SIZE_MIN));
	keep_range(match, blocks->address, range_of(filter, FILTER_ADDRESS_MIN));
	keep_slack(match, blocks->slack, range_of(filter, FILTER_SLACK_MIN));
	keep_tag(match, filter, FILTER_TAG, blocks->tag);
	keep_tag(match, filter, FILTER_MARKER, blocks->tag);
	keep_flag(match, filter, FILTER_MMAPED, recording, TRACE_HEAP_MMAPPED, true);
	keep_flag(match, filter, FILTER_ARENA, recording, TRACE_HEAP_NON_MAIN_ARENA, false);
	err = keep_chains(match, filter, blocks);
	// Last, because it takes long for each block.
	return err ? err : keep_pool(match, filter, recording);
}

static struct err *match_create(uint64_t blocks, struct filter_match *ret)
{
	uint64_t words = (blocks + 63) / 64;
	struct filter_match match = {.blocks = blocks};

	match.words = malloc((words + 1) * sizeof(*match.words));
	if (!match.words)
		return err_no_memory();
	memset(match.words, 0xff, words * sizeof(*match.words));
	if (blocks % 64)
		match.words[words - 1] = (UINT64_C(1) << blocks % 64) - 1;
	*ret = match;
	return NULL;
}

void filter_match_deinit(struct filter_match *match)
{
	free(match->words);
	*match = (struct filter_match){0};
}

struct err *filter_match(const struct filter *filter, const struct recording *recording,
			 struct symbolized *symbolized, struct filter_match *ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	cleanup(filter_match_deinit) struct filter_match match = {0};
	auto_free uint8_t *sites = NULL;
	struct err *err;

	err = match_create(blocks->count, &match);
	if (!err)
		err = filter_sites(filter, recording, symbolized, &sites);
	if (!err)
		err = keep_blocks(filter, recording, &match);
	if (err)
		return err;
	if (sites)
		keep_marked(&match, blocks->site, sites);
	for (uint64_t i = 0; i * 64 < match.blocks; i++)
		match.count += (uint64_t)__builtin_popcountll(match.words[i]);
	*ret = match;
	match = (struct filter_match){0};
	return NULL;
}
