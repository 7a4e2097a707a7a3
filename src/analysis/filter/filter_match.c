/* Evaluates a filter: one pass over a column for each condition. */
#include <string.h>

#include "analysis/blocks/block_temporary.h"
#include "analysis/filter/filter_data.h"
#include "analysis/filter/filter_keep.h"
#include "analysis/filter/filter_maps.h"
#include "analysis/filter/filter_pools.h"
#include "analysis/filter/filter_sites.h"
#include "analysis/filter/filter_times.h"
#include "analysis/leaks/suppressed.h"
#include "analysis/views/jemalloc.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

/*
 * Removes from the match the blocks that were never freed and whose stacks a suppression matches,
 * so that what is left leaks as much as suppressed_create() says.
 */
static struct err *filter_suppress(const struct filter *filter, const struct recording *recording,
				   struct symbolized *symbolized, struct filter_match *match)
{
	const struct block_columns *blocks = recording_blocks(recording);
	auto_free uint32_t *stacks = NULL;
	auto_free uint8_t *known = NULL; // for each site
	const struct site *sites;
	struct err *err;
	uint32_t count;

	if (!filter_has(filter, FILTER_SUPPRESS))
		return NULL;
	err = suppressed_stacks(filter->conditions[FILTER_SUPPRESS].suppressions, recording,
				symbolized, &stacks);
	if (err)
		return err;
	sites = recording_sites(recording, &count);
	known = malloc((size_t)count + 1);
	if (!known)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		known[i] = stacks[(uint32_t)(sites[i].stack + 1)] != 0;
	KEEP(match, blocks->freed_ns[i] != TIME_NEVER || !known[blocks->site[i]]);
	return NULL;
}

/*
 * Chains of blocks: a chain is a block, the block that realloc made of it, and so on. A successor
 * stands behind its predecessor in the columns. Most blocks are a chain alone.
 */
enum chain_value {
	CHAIN_FIRST_SIZE,
	CHAIN_LAST_SIZE,
	CHAIN_LENGTH,
	CHAIN_POSITION, /* how many blocks of the chain come before this one */
	CHAIN_LIFETIME, /* TIME_NEVER: its last block is leaked */
	CHAIN_FREED,    /* when its last block was freed, or TIME_NEVER */
};

static bool has_successor(const struct block_columns *blocks, uint64_t block)
{
	return blocks->successor[block] < blocks->count;
}

/*
 * Passes the first block's value on through its chain. Each block's is larger by step than the one
 * before.
 */
static void hand_on(const struct block_columns *blocks, uint64_t step, uint64_t *values)
{
	for (uint64_t i = 0; i < blocks->count; i++)
		if (has_successor(blocks, i))
			values[blocks->successor[i]] = values[i] + step;
}

/* Passes the last block's value back through its chain. */
static void hand_back(const struct block_columns *blocks, uint64_t *values)
{
	for (uint64_t i = blocks->count; i-- > 0;)
		if (has_successor(blocks, i))
			values[i] = values[blocks->successor[i]];
}

static void copy_column(const struct block_columns *blocks, const uint64_t *column, uint64_t *ret)
{
	if (blocks->count)
		memcpy(ret, column, blocks->count * sizeof(*ret));
}

static void fill_column(const struct block_columns *blocks, uint64_t value, uint64_t *ret)
{
	for (uint64_t i = 0; i < blocks->count; i++)
		ret[i] = value;
}

/* Sets ret[0 … count - 1] to that value of each block's chain, or of the block in its chain. */
static void chain_values(const struct block_columns *blocks, enum chain_value value, uint64_t *ret)
{
	switch (value) {
	case CHAIN_FIRST_SIZE:
		copy_column(blocks, blocks->size, ret);
		hand_on(blocks, 0, ret);
		return;
	case CHAIN_LAST_SIZE:
		copy_column(blocks, blocks->size, ret);
		break;
	case CHAIN_LENGTH:
		fill_column(blocks, 1, ret);
		hand_on(blocks, 1, ret);
		break;
	case CHAIN_POSITION:
		fill_column(blocks, 0, ret);
		hand_on(blocks, 1, ret);
		return;
	case CHAIN_LIFETIME:
		copy_column(blocks, blocks->allocated_ns, ret);
		hand_on(blocks, 0, ret);
		for (uint64_t i = 0; i < blocks->count; i++)
			ret[i] = blocks->freed_ns[i] == TIME_NEVER ? TIME_NEVER
								   : blocks->freed_ns[i] - ret[i];
		break;
	case CHAIN_FREED:
		copy_column(blocks, blocks->freed_ns, ret);
		break;
	}
	hand_back(blocks, ret);
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

/* column: of each block a thread's index, or RECORDING_NONE, which is no thread. */
static struct err *keep_thread(struct filter_match *match, const struct filter *filter,
			       enum filter_id id, const struct recording *recording,
			       const uint32_t *column)
{
	const struct filter_condition *condition = &filter->conditions[id];
	auto_free uint8_t *wanted = NULL;
	const struct recorded_thread *threads;
	uint32_t count;

	if (!filter_has(filter, id))
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
	KEEP(match, column[i] < count && wanted[column[i]]);
	return NULL;
}

static struct err *keep_temporary(struct filter_match *match, const struct filter *filter,
				  const struct recording *recording)
{
	uint64_t flip = filter->conditions[FILTER_TEMPORARY].number == 0 ? 0 : UINT64_MAX;
	auto_free uint64_t *temporary = NULL;
	struct err *err = NULL;

	if (!filter_has(filter, FILTER_TEMPORARY))
		return NULL;
	err = block_temporary_find(recording, &temporary);
	for (uint64_t i = 0; !err && i * 64 < match->blocks; i++)
		match->words[i] &= temporary[i] ^ flip;
	return err;
}

static void keep_entry(struct filter_match *match, const struct filter *filter,
		       const uint8_t *entries)
{
	uint64_t wanted = filter->conditions[FILTER_ENTRY].number;

	if (filter_has(filter, FILTER_ENTRY)) {
		KEEP(match, wanted >> entries[i] & 1);
	}
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

	if (range_is_all(range))
		return NULL;
	values = malloc((blocks->count + 1) * sizeof(*values));
	if (!values)
		return err_no_memory();
	chain_values(blocks, value, values);
	keep_range(match, values, range);
	return NULL;
}

static struct err *keep_chain_number(struct filter_match *match, uint64_t number,
				     const struct recording *recording)
{
	const uint32_t *chains;
	struct err *err = recording_block_chains(recording, &chains);

	if (!err) {
		KEEP(match, chains[i] == number);
	}
	return err;
}

static struct err *keep_chains(struct filter_match *match, const struct filter *filter,
			       const struct recording *recording)
{
	const struct block_columns *blocks = recording_blocks(recording);
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

	if (filter_has(filter, FILTER_CHAIN))
		err = keep_chain_number(match, filter->conditions[FILTER_CHAIN].number, recording);
	for (size_t i = 0; !err && i < ARRAY_COUNT(pairs); i++)
		err = keep_chain(match, blocks, pairs[i].value, filter_range(filter, pairs[i].min));
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
	struct err *err = filter_times(filter, recording, blocks, match);

	if (!err)
		err = keep_thread(match, filter, FILTER_THREAD, recording, blocks->thread);
	if (!err)
		err = keep_thread(match, filter, FILTER_FREE_THREAD, recording,
				  blocks->free_thread);
	if (!err)
		err = keep_temporary(match, filter, recording);
	if (err)
		return err;
	keep_range(match, blocks->size, filter_range(filter, FILTER_SIZE_MIN));
	keep_range(match, blocks->address, filter_range(filter, FILTER_ADDRESS_MIN));
	keep_range_32(match, blocks->slack, filter_range(filter, FILTER_SLACK_MIN));
	keep_entry(match, filter, blocks->entry);
	keep_tag(match, filter, FILTER_TAG, blocks->tag);
	keep_tag(match, filter, FILTER_MARKER, blocks->tag);
	keep_flag(match, filter, FILTER_MMAPED, recording, TRACE_HEAP_MMAPPED, true);
	keep_flag(match, filter, FILTER_ARENA, recording, TRACE_HEAP_NON_MAIN_ARENA, false);
	keep_stack(match, filter, FILTER_DEALLOCATION_BACKTRACES, blocks->free_stack);
	if (filter_has(filter, FILTER_JEMALLOC) &&
	    jemalloc_serves(recording) != (filter->conditions[FILTER_JEMALLOC].number == 0))
		keep_none(match);
	err = keep_chains(match, filter, recording);
	if (!err)
		err = filter_from_map(filter, recording, match);
	// Last, because it takes long for each block.
	return err ? err : keep_pool(match, filter, recording);
}

/* Refuses conditions on what the recording cannot know. Without this they would match nothing. */
static struct err *check_known(const struct filter *filter, const struct recording *recording)
{
	static const enum filter_id of_events[] = {
		FILTER_FREED_FROM,
		FILTER_FREED_TO,
		FILTER_FREE_THREAD,
		FILTER_TEMPORARY,
		FILTER_ENTRY,
		FILTER_CHAIN,
		FILTER_DEALLOCATION_BACKTRACES,
		FILTER_FROM_MAP,
		FILTER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MIN,
		FILTER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX,
		FILTER_SLACK_MIN,
		FILTER_SLACK_MAX,
		FILTER_MMAPED,
		FILTER_ARENA,
		FILTER_TAG,
		FILTER_MARKER,
		FILTER_POOL,
		FILTER_CHAIN_LENGTH_MIN,
		FILTER_CHAIN_LENGTH_MAX,
		FILTER_CHAIN_LIFETIME_MIN,
		FILTER_CHAIN_LIFETIME_MAX,
		FILTER_POSITION_IN_CHAIN_MIN,
		FILTER_POSITION_IN_CHAIN_MAX,
		FILTER_FIRST_SIZE_MIN,
		FILTER_FIRST_SIZE_MAX,
		FILTER_LAST_SIZE_MIN,
		FILTER_LAST_SIZE_MAX,
	};
	const struct recording_facts *facts = recording_facts(recording);

	if (facts->aggregate && !filter_is_empty(filter))
		return err_create("sums of stacks have no single blocks");
	for (size_t i = 0; facts->live && i < ARRAY_COUNT(of_events); i++)
		if (filter_has(filter, of_events[i]))
			return err_create("%s: a live table does not know this of its blocks; a "
					  "recording does",
					  filter->conditions[of_events[i]].name);
	if (filter_has(filter, FILTER_TEMPORARY) && (facts->sample_mean || facts->cull_ns))
		return err_create("%s: this is not known of a recording that lacks allocations, as "
				  "with %s",
				  filter->conditions[FILTER_TEMPORARY].name,
				  facts->stripped  ? "mallow strip"
				  : facts->cull_ns ? "--cull"
						   : "--sample");
	return NULL;
}

struct err *filter_match_create(uint64_t blocks, struct filter_match *ret)
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

	err = check_known(filter, recording);
	if (!err)
		err = filter_match_create(blocks->count, &match);
	if (!err)
		err = filter_sites(filter, recording, symbolized, &sites);
	if (!err)
		err = keep_blocks(filter, recording, &match);
	if (err)
		return err;
	if (sites)
		keep_marked(&match, blocks->site, sites);
	err = filter_suppress(filter, recording, symbolized, &match);
	if (err)
		return err;
	for (uint64_t i = 0; i * 64 < match.blocks; i++)
		match.count += (uint64_t)__builtin_popcountll(match.words[i]);
	*ret = match;
	match = (struct filter_match){0};
	return NULL;
}
