#include "analysis/views/site_extent.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sample_weight.h"

static void widen(uint64_t value, uint64_t *min, uint64_t *max)
{
	if (value < *min)
		*min = value;
	if (value > *max)
		*max = value;
}

static void add(struct site_extent *extent, const struct block_columns *blocks, uint64_t i,
		uint64_t weight)
{
	// Rows are in the order of allocation: the first one met is the first one.
	if (!extent->calls) {
		extent->min_size = extent->min_usable = UINT64_MAX;
		extent->first_ns = blocks->allocated_ns[i];
		extent->first = i;
	}
	extent->last_ns = blocks->allocated_ns[i];
	extent->calls += weight;
	extent->leaked += weight * (blocks->freed_ns[i] == TIME_NEVER);
	extent->size += weight * blocks->size[i];
	extent->usable += weight * blocks->usable[i];
	widen(blocks->size[i], &extent->min_size, &extent->max_size);
	widen(blocks->usable[i], &extent->min_usable, &extent->max_usable);
}

/* What is in a site's sums and in no block. Nobody knows what of it was usable. */
static void add_culled(struct site_extent *extents, const struct site *sites, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t culled = sites[i].total_bytes - extents[i].size;

		extents[i].calls = sites[i].calls;
		extents[i].leaked = sites[i].leaked_blocks;
		extents[i].size += culled;
		extents[i].usable += culled;
	}
}

struct err *site_extents_create(const struct recording *recording, const uint64_t *bits,
				struct site_extent **ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	const struct recording_facts *facts = recording_facts(recording);
	uint64_t mean = facts->sample_mean;
	struct site_extent *extents;
	const struct site *sites;
	uint32_t count;

	sites = recording_sites(recording, &count);
	extents = calloc((size_t)count + 1, sizeof(*extents));
	if (!extents)
		return err_no_memory();
	BLOCK_BITS_EACH(bits, blocks->count, i)
	add(&extents[blocks->site[i]], blocks, i,
	    mean ? sample_weight(mean, blocks->size[i], i + 1) : 1);
	if (!bits && facts->culled_allocations)
		add_culled(extents, sites, count);
	*ret = extents;
	return NULL;
}
