#include "analysis/filter/filtered.h"

#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_temporary.h"
#include "analysis/recording_data.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"

/*
 * The walk goes over the allocations in their order, a window at a time:
 *
 *	blocks   0 ........................................... count
 *	windows  |------ 0 ------|------ 1 ------|------ 2 ------|
 *
 * The frees between two allocations are a list, in any order: a peak is reached by an allocation.
 * Most blocks end in the window in which they began. The others wait in a list of the window in
 * which they end. So the walk takes as much memory for a long recording as for a short one.
 */
#define WINDOW ((uint64_t)1 << 10)
#define END    UINT32_MAX

/* A matching block. All that the walk needs lies together, because frees come out of order. */
struct matching {
	uint64_t size;
	uint64_t weight; /* how many it stands for */
	uint32_t site;   /* the site in the copy */
	uint32_t next;   /* the next one in its list of frees; of one that waits: when it ends */
};

struct waiting {
	VEC(struct matching) blocks;
};

struct walk {
	const struct recording *recording;
	const struct filter_match *match;
	const struct block_columns *blocks;
	struct recording *filtered;
	uint32_t *site_of;         /* for each site its new one + 1; 0: none yet */
	struct matching *matching; /* of the window: its blocks by their place, then the others … */
	size_t capacity;           /* … that end in it */
	uint32_t *freed;           /* for each place in the window: the list of frees before it */
	struct waiting *waiting;   /* for each window: blocks of earlier ones that end in it */
};

/* A block may end after the last allocation: that is one more place. */
static uint64_t windows_of(const struct walk *walk)
{
	return walk->blocks->count / WINDOW + 1;
}

static void walk_deinit(struct walk *walk)
{
	recording_close(walk->filtered);
	for (uint64_t i = 0; walk->waiting && i < windows_of(walk); i++)
		vec_deinit(&walk->waiting[i].blocks);
	free(walk->site_of);
	free(walk->matching);
	free(walk->freed);
	free(walk->waiting);
}

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

static bool reserve(struct walk *walk, size_t count)
{
	struct matching *matching;

	if (count <= walk->capacity)
		return true;
	matching = realloc(walk->matching, 2 * count * sizeof(*matching));
	if (!matching)
		return false;
	walk->matching = matching;
	walk->capacity = 2 * count;
	return true;
}

/* Puts a block into the list of frees before that place in the window. */
static void list(struct walk *walk, size_t number, uint64_t place)
{
	walk->matching[number].next = walk->freed[place];
	walk->freed[place] = (uint32_t)number;
}

/* Takes the blocks of earlier windows that end in the one that begins there. */
static bool take_waiting(struct walk *walk, uint64_t begin)
{
	__auto_type waiting = &walk->waiting[begin / WINDOW].blocks;

	if (!reserve(walk, WINDOW + waiting->count))
		return false;
	for (size_t i = 0; i < waiting->count; i++) {
		walk->matching[WINDOW + i] = waiting->items[i];
		list(walk, WINDOW + i, waiting->items[i].next - begin);
	}
	vec_deinit(waiting);
	return true;
}

/* Takes the matching blocks of the window. */
static struct err *gather(struct walk *walk, uint64_t begin, uint64_t stop)
{
	uint64_t mean = walk->recording->facts.sample_mean;
	uint64_t end = stop < walk->blocks->count ? stop : walk->blocks->count;

	memset(walk->freed, 0xff, WINDOW * sizeof(*walk->freed));
	if (!take_waiting(walk, begin))
		return err_no_memory();
	for (uint64_t i = block_bits_next(walk->match->words, end, begin); i < end;
	     i = block_bits_next(walk->match->words, end, i + 1)) {
		struct matching *matching = &walk->matching[i - begin];
		uint64_t turn = walk->blocks->free_turn[i];
		struct err *err = find_site(walk, i, &matching->site);

		if (err)
			return err;
		matching->size = walk->blocks->size[i];
		matching->weight = mean ? sample_weight(mean, matching->size, i + 1) : 1;
		matching->next = (uint32_t)turn;
		if (turn == RECORDING_NONE)
			continue;
		if (turn < stop)
			list(walk, i - begin, turn - begin);
		else if (!vec_push(&walk->waiting[turn / WINDOW].blocks, *matching))
			return err_no_memory();
	}
	return NULL;
}

/* Takes the frees before that place in the window. */
static void end_lives(struct walk *walk, uint64_t place)
{
	for (uint32_t i = walk->freed[place]; i != END; i = walk->matching[i].next)
		site_table_died(&walk->filtered->sites, walk->matching[i].site,
				walk->matching[i].size, walk->matching[i].weight, false);
}

static struct err *add_up(struct walk *walk)
{
	struct site_table *sites = &walk->filtered->sites;
	uint64_t count = walk->blocks->count;
	struct err *err = NULL;

	for (uint64_t begin = 0; !err && begin <= count; begin += WINDOW) {
		err = gather(walk, begin, begin + WINDOW);
		for (uint64_t i = begin; !err && i < begin + WINDOW && i <= count; i++) {
			const struct matching *matching = &walk->matching[i - begin];

			end_lives(walk, i - begin);
			if (i < count && block_bits_has(walk->match->words, i))
				site_table_born(sites, matching->site, matching->size,
						matching->weight, walk->blocks->allocated_ns[i], i);
		}
	}
	return err;
}

static struct err *add_temporary(struct walk *walk)
{
	auto_free uint64_t *temporary = NULL;
	struct err *err = block_temporary_find(walk->recording, &temporary);

	if (err)
		return err;
	for (uint64_t i = 0; i < walk->blocks->count; i++) {
		if (block_bits_has(temporary, i) && block_bits_has(walk->match->words, i))
			walk->filtered->sites.sites.items[walk->site_of[walk->blocks->site[i]] - 1]
				.temporary++;
	}
	return NULL;
}

uint64_t filtered_peak_block(const struct recording *filtered)
{
	return site_table_peak_block(&filtered->sites);
}

struct err *filtered_create(const struct recording *recording, const struct filter_match *match,
			    struct recording **ret)
{
	cleanup(walk_deinit) struct walk walk = {
		.recording = recording,
		.match = match,
		.blocks = &recording->blocks->store.columns,
		.site_of = calloc(recording->sites.sites.count + 1, sizeof(*walk.site_of)),
		.freed = malloc(WINDOW * sizeof(*walk.freed)),
	};
	struct recording *filtered;
	struct err *err;

	walk.waiting = calloc(windows_of(&walk), sizeof(*walk.waiting));
	if (!walk.site_of || !walk.freed || !walk.waiting)
		return err_no_memory();
	err = recording_create_alike(recording, &walk.filtered);
	if (err)
		return err;
	filtered = walk.filtered;
	filtered->facts.filtered = true;
	err = add_up(&walk);
	if (err)
		return err;
	err = add_temporary(&walk);
	if (err)
		return err;
	site_table_finish(&filtered->sites, &filtered->summary);
	filtered->summary.peak_time_ns = filtered->sites.peak_ticks;
	*ret = steal(&walk.filtered);
	return NULL;
}
