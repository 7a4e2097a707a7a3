#include "analysis/filtered.h"

#include <string.h>

#include "analysis/recording_data.h"
#include "analysis/sample_weight.h"
#include "hosted/cleanup.h"

/*
 * Matching blocks are numbered as they were allocated. The frees between two such allocations make
 * a list: their order does not matter, for a peak is reached by allocating.
 */
#define END UINT64_MAX

struct walk {
	const struct recording *recording;
	const struct filter_match *match;
	const struct block_columns *blocks;
	struct recording *filtered;
	uint32_t *site_of; /* of each site its new one + 1, 0: none yet */
	uint64_t *ranks;   /* of each word, how many match before it */
	uint64_t *first; /* of each matching allocation, and the end: a block freed before it … */
	uint64_t *next;  /* … and of each matching block, by number, the next one */
	uint64_t *temporary; /* a bit for each block */
};

static void walk_deinit(struct walk *walk)
{
	recording_close(walk->filtered);
	free(walk->site_of);
	free(walk->ranks);
	free(walk->first);
	free(walk->next);
	free(walk->temporary);
}

/* What is the same in both is shared; site_table_deinit() and close leave it alone. */
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
	filtered->pools = (struct pool_table){0};
	filtered->live_line = (struct live_line){0};
	filtered->heap_errors = (struct heap_errors){0};
	return filtered;
}

/* Matching blocks before that one, of which there may be none. */
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

/* Every matching block in turn, with its number: for each word the bits that are set. */
#define EACH_MATCH(match, block, number)                                                           \
	for (uint64_t word_ = 0, number = 0; word_ * 64 < (match)->blocks; word_++)                \
		for (uint64_t bits_ = (match)->words[word_], block;                                \
		     bits_ && (block = word_ * 64 + (uint64_t)__builtin_ctzll(bits_), true);       \
		     bits_ &= bits_ - 1, number++)

static void list_frees(struct walk *walk)
{
	for (uint64_t i = 0; i <= walk->match->count; i++)
		walk->first[i] = END;
	EACH_MATCH(walk->match, block, number)
	{
		uint64_t turn;

		if (walk->blocks->freed_ns[block] == TIME_NEVER)
			continue;
		turn = rank(walk, walk->blocks->free_turn[block]);
		walk->next[number] = walk->first[turn];
		walk->first[turn] = block;
	}
}

/* Freed with no other allocation by the same thread in between, also of blocks that do not match.
 */
static struct err *find_temporary(struct walk *walk)
{
	const struct block_columns *blocks = walk->blocks;
	const struct recording_facts *facts = &walk->recording->facts;
	size_t threads = walk->recording->threads.count;
	auto_free uint64_t *following = malloc((threads + 1) * sizeof(*following));

	if (!following)
		return err_no_memory();
	if (facts->sample_mean || facts->cull_ns)
		return NULL; // what came in between is not known
	memset(following, 0xff, (threads + 1) * sizeof(*following));
	for (uint64_t i = blocks->count; i-- > 0;) {
		uint64_t *next = &following[blocks->thread[i]];
		bool temporary = blocks->freed_ns[i] != TIME_NEVER && blocks->free_turn[i] <= *next;

		walk->temporary[i / 64] |= (uint64_t)temporary << i % 64;
		*next = i;
	}
	return NULL;
}

static uint64_t weight(const struct walk *walk, uint64_t block)
{
	uint64_t mean = walk->recording->facts.sample_mean;

	return mean ? sample_weight(mean, walk->blocks->size[block], block + 1) : 1;
}

static struct err *bear(struct walk *walk, uint64_t block)
{
	struct site_table *sites = &walk->filtered->sites;
	uint32_t *site = &walk->site_of[walk->blocks->site[block]];

	if (!*site) {
		uint32_t stack =
			walk->recording->sites.sites.items[walk->blocks->site[block]].stack;
		struct err *err = site_table_append(sites, stack, site);

		if (err)
			return err;
		++*site;
	}
	site_table_born(sites, *site - 1, walk->blocks->size[block], weight(walk, block),
			walk->blocks->allocated_ns[block]);
	return NULL;
}

/* The frees before the matching allocation of that number, or at the end. */
static void end_lives(struct walk *walk, uint64_t number)
{
	for (uint64_t block = walk->first[number]; block != END;
	     block = walk->next[rank(walk, block)])
		site_table_died(&walk->filtered->sites,
				walk->site_of[walk->blocks->site[block]] - 1,
				walk->blocks->size[block], weight(walk, block),
				walk->temporary[block / 64] >> block % 64 & 1);
}

static struct err *add_up(struct walk *walk)
{
	struct recording *filtered = walk->filtered;

	EACH_MATCH(walk->match, block, number)
	{
		struct err *err;

		end_lives(walk, number);
		err = bear(walk, block);
		if (err)
			return err;
	}
	end_lives(walk, walk->match->count);
	site_table_finish(&filtered->sites, &filtered->summary);
	filtered->summary.peak_time_ns = filtered->sites.peak_ticks;
	return NULL;
}

struct err *filtered_create(const struct recording *recording, const struct filter_match *match,
			    struct recording **ret)
{
	uint64_t words = match->blocks / 64 + 1;
	cleanup(walk_deinit) struct walk walk = {
		.recording = recording,
		.match = match,
		.blocks = &recording->blocks.columns,
		.filtered = make_filtered(recording),
		.site_of = calloc(recording->sites.sites.count + 1, sizeof(*walk.site_of)),
		.ranks = malloc(words * sizeof(*walk.ranks)),
		.first = malloc((match->count + 1) * sizeof(*walk.first)),
		.next = malloc((match->count + 1) * sizeof(*walk.next)),
		.temporary = calloc(words, sizeof(*walk.temporary)),
	};
	struct err *err;

	if (!walk.filtered || !walk.site_of || !walk.ranks || !walk.first || !walk.next ||
	    !walk.temporary)
		return err_no_memory();
	find_ranks(&walk);
	list_frees(&walk);
	err = find_temporary(&walk);
	if (!err)
		err = add_up(&walk);
	if (err)
		return err;
	*ret = steal(&walk.filtered);
	return NULL;
}
