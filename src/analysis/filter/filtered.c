#include "analysis/filter/filtered.h"

#include <string.h>

#include "analysis/blocks/block_temporary.h"
#include "analysis/recording_data.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"

/*
 * A matching block. Matching blocks are numbered in order of allocation. The frees between two of
 * their allocations are a list, in any order: a peak is reached by an allocation. All that the walk
 * needs of a block lies together, because frees reach blocks out of order.
 */
#define END UINT32_MAX

struct matching {
	uint64_t size;
	uint32_t site; /* the site in the copy */
	uint32_t next; /* the next one in its list of frees */
};

struct walk {
	const struct recording *recording;
	const struct filter_match *match;
	const struct block_columns *blocks;
	struct recording *filtered;
	uint32_t *site_of;         /* for each site its new one + 1; 0: none yet */
	uint64_t *ranks;           /* for each word, how many blocks match before it */
	struct matching *matching; /* all matching blocks, by number */
	uint32_t *freed;           /* for each number, and the end: the list of frees before it */
	uint64_t *weights;         /* for each number: how many it stands for; NULL: one */
};

static void walk_deinit(struct walk *walk)
{
	recording_close(walk->filtered);
	free(walk->site_of);
	free(walk->ranks);
	free(walk->matching);
	free(walk->freed);
	free(walk->weights);
}

/*
 * Makes a copy that shares what is the same in both. site_table_deinit() and recording_close()
 * leave that alone.
 */
static struct recording *make_filtered(const struct recording *recording)
{
	struct recording *filtered = malloc(sizeof(*filtered));

	if (!filtered)
		return NULL;
	*filtered = *recording;
	filtered->borrowed = true;
	filtered->facts.filtered = true;
	filtered->sites = (struct site_table){0};
	filtered->summary = (struct recording_summary){0};
	filtered->blocks = (struct block_store){0};
	filtered->views = NULL;
	filtered->facts_cache = NULL;
	filtered->pools = (struct pool_table){0};
	filtered->peak_block = UINT64_MAX;
	filtered->live_line = (struct live_line){0};
	filtered->heap_errors = (struct heap_errors){0};
	return filtered;
}

/* How many matching blocks come before that block. */
static uint64_t rank(const struct walk *walk, uint64_t block)
{
	uint64_t below = (UINT64_C(1) << block % 64) - 1;

	if (block >= walk->match->blocks)
		return walk->match->count;
	return walk->ranks[block / 64] +
	       (uint64_t)__builtin_popcountll(walk->match->words[block / 64] & below);
}

static void find_ranks(struct walk *walk)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i * 64 < walk->match->blocks; i++) {
		walk->ranks[i] = sum;
		sum += (uint64_t)__builtin_popcountll(walk->match->words[i]);
	}
}

/* Loops over the matching blocks with their numbers: over the bits that are set in each word. */
#define EACH_MATCH(match, block, number)                                                           \
	for (uint64_t word_ = 0, number = 0; word_ * 64 < (match)->blocks; word_++)                \
		for (uint64_t bits_ = (match)->words[word_], block;                                \
		     bits_ && (block = word_ * 64 + (uint64_t)__builtin_ctzll(bits_), true);       \
		     bits_ &= bits_ - 1, number++)

static struct err *find_site(struct walk *walk, uint64_t block, uint32_t *ret)
{
	uint32_t site = walk->blocks->site[block];

	if (!walk->site_of[site]) {
		uint32_t stack = walk->recording->sites.sites.items[site].stack;
		struct err *err = site_table_append(&walk->filtered->sites, stack, ret);

		if (err)
			return err;
		walk->site_of[site] = *ret + 1;
	}
	*ret = walk->site_of[site] - 1;
	return NULL;
}

/* Gathers what the walk needs, in order of allocation. */
static struct err *gather(struct walk *walk)
{
	uint64_t mean = walk->recording->facts.sample_mean;

	memset(walk->freed, 0xff, (walk->match->count + 1) * sizeof(*walk->freed));
	EACH_MATCH(walk->match, block, number)
	{
		struct matching *matching = &walk->matching[number];
		uint32_t turn = walk->blocks->free_turn[block];
		struct err *err = find_site(walk, block, &matching->site);

		if (err)
			return err;
		matching->size = walk->blocks->size[block];
		if (walk->weights)
			walk->weights[number] = sample_weight(mean, matching->size, block + 1);
		if (turn == RECORDING_NONE)
			continue;
		turn = (uint32_t)rank(walk, turn);
		matching->next = walk->freed[turn];
		walk->freed[turn] = (uint32_t)number;
	}
	return NULL;
}

static uint64_t weight(const struct walk *walk, uint64_t number)
{
	return walk->weights ? walk->weights[number] : 1;
}

/* Takes the frees before the matching allocation of that number, or before the end. */
static void end_lives(struct walk *walk, uint64_t number)
{
	for (uint32_t i = walk->freed[number]; i != END; i = walk->matching[i].next)
		site_table_died(&walk->filtered->sites, walk->matching[i].site,
				walk->matching[i].size, weight(walk, i), false);
}

static void add_up(struct walk *walk)
{
	struct site_table *sites = &walk->filtered->sites;

	EACH_MATCH(walk->match, block, number)
	{
		const struct matching *matching = &walk->matching[number];

		uint64_t peak = sites->peak;

		end_lives(walk, number);
		site_table_born(sites, matching->site, matching->size, weight(walk, number),
				walk->blocks->allocated_ns[block]);
		if (sites->peak != peak)
			walk->filtered->peak_block = block;
	}
	end_lives(walk, walk->match->count);
}

static struct err *add_temporary(struct walk *walk)
{
	auto_free uint64_t *temporary = NULL;
	struct err *err = block_temporary_find(walk->recording, &temporary);

	if (err)
		return err;
	for (uint64_t i = 0; i < walk->blocks->count; i++) {
		if ((temporary[i / 64] & walk->match->words[i / 64]) >> i % 64 & 1)
			walk->filtered->sites.sites.items[walk->site_of[walk->blocks->site[i]] - 1]
				.temporary++;
	}
	return NULL;
}

uint64_t filtered_peak_block(const struct recording *filtered)
{
	return filtered->peak_block;
}

struct err *filtered_create(const struct recording *recording, const struct filter_match *match,
			    struct recording **ret)
{
	size_t count = match->count + 1;
	bool sampled = recording->facts.sample_mean != 0;
	cleanup(walk_deinit) struct walk walk = {
		.recording = recording,
		.match = match,
		.blocks = &recording->blocks.columns,
		.filtered = make_filtered(recording),
		.site_of = calloc(recording->sites.sites.count + 1, sizeof(*walk.site_of)),
		.ranks = malloc((match->blocks / 64 + 1) * sizeof(*walk.ranks)),
		.matching = calloc(count, sizeof(*walk.matching)),
		.freed = malloc(count * sizeof(*walk.freed)),
		.weights = sampled ? malloc(count * sizeof(*walk.weights)) : NULL,
	};
	struct recording *filtered = walk.filtered;
	struct err *err;

	if (match->count >= END)
		return err_create("%ju allocations match, more than %u cannot be added up",
				  (uintmax_t)match->count, END - 1);
	if (!walk.filtered || !walk.site_of || !walk.ranks || !walk.matching || !walk.freed ||
	    sampled != (walk.weights != NULL))
		return err_no_memory();
	find_ranks(&walk);
	err = gather(&walk);
	if (err)
		return err;
	if (filtered->sites.sites.count)
		add_up(&walk);
	err = add_temporary(&walk);
	if (err)
		return err;
	site_table_finish(&filtered->sites, &filtered->summary);
	filtered->summary.peak_time_ns = filtered->sites.peak_ticks;
	*ret = steal(&walk.filtered);
	return NULL;
}
