#include "report/export/heaptrack_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define SET_BITS 18
#define WAYS     4

/* The kinds that are remembered for one hash, the last used first. 16 MB in all. */
struct heaptrack_kind_set {
	struct known_kind {
		uint64_t size;
		uint32_t site;
		uint32_t number; /* + 1; 0: none */
	} ways[WAYS];
};

void heaptrack_kinds_deinit(struct heaptrack_kinds *kinds)
{
	heaptrack_names_destroy(kinds->names);
	free(kinds->sets);
	spill_deinit(&kinds->memory);
}

struct err *heaptrack_kinds_init(struct heaptrack_kinds *kinds, struct symbolized *symbolized)
{
	kinds->recording = symbolized_recording(symbolized);
	kinds->sets = calloc((size_t)1 << SET_BITS, sizeof(*kinds->sets));
	if (!kinds->sets || !spill_grow(&kinds->memory, (recording_blocks(kinds->recording)->count +
							 1) * sizeof(*kinds->of)))
		return err_no_memory();
	kinds->of = kinds->memory.data;
	return heaptrack_names_create(symbolized, &kinds->names);
}

static void put_kind(struct buf *buf, uint64_t size, uint32_t stack)
{
	buf_text(buf, "a ");
	buf_hex(buf, size);
	buf_char(buf, ' ');
	buf_hex(buf, stack);
	buf_char(buf, '\n');
}

static struct err *define(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t size,
			  uint32_t site)
{
	uint32_t unused, stack;
	const struct site *sites = recording_sites(kinds->recording, &unused);
	struct err *err = heaptrack_names_stack(kinds->names, buf, sites[site].stack, &stack);

	if (err)
		return err;
	put_kind(buf, size, stack);
	if (!kinds->count++) {
		kinds->first_size = size;
		kinds->first_stack = stack;
	}
	return NULL;
}

/*
 * Moves a kind to the front of its set. If it is not there, it takes the place of the one that was
 * used longest ago.
 */
static struct known_kind *recall(struct heaptrack_kinds *kinds, uint64_t size, uint32_t site)
{
	uint64_t hash = random_mix(size * RANDOM_STEP + site);
	struct known_kind *ways = kinds->sets[hash >> (64 - SET_BITS)].ways;
	struct known_kind found = {.size = size, .site = site};
	size_t way = 0;

	while (way < WAYS - 1 && !(ways[way].size == size && ways[way].site == site))
		way++;
	if (ways[way].size == size && ways[way].site == site)
		found = ways[way];
	memmove(ways + 1, ways, way * sizeof(*ways));
	ways[0] = found;
	return ways;
}

struct err *heaptrack_kinds_take(struct heaptrack_kinds *kinds, struct buf *buf, uint64_t block,
				 uint64_t size)
{
	uint32_t site = recording_blocks(kinds->recording)->site[block];
	struct known_kind *known = recall(kinds, size, site);

	if (!known->number) {
		struct err *err = define(kinds, buf, size, site);

		if (err)
			return err;
		known->number = kinds->count;
	}
	kinds->of[block] = known->number - 1;
	return NULL;
}

void heaptrack_kinds_finish(struct heaptrack_kinds *kinds, struct buf *buf)
{
	if (!kinds->count)
		return;
	put_kind(buf, 0, kinds->first_stack);
	put_kind(buf, kinds->first_size, kinds->first_stack);
}
