#include "analysis/views/heap_regions.h"

#include "analysis/blocks/block_bits.h"
#include "analysis/views/heap_chunk.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"

struct regions {
	VEC(struct heap_region) items;
};

static void regions_deinit(struct regions *regions)
{
	vec_deinit(&regions->items);
}

static bool add(struct regions *regions, struct heap_region chunk)
{
	size_t count = regions->items.count;
	struct heap_region *last = count ? &regions->items.items[count - 1] : NULL;

	if (!last || chunk.start > last->end)
		return vec_push(&regions->items, chunk);
	if (chunk.end > last->end)
		last->end = chunk.end;
	return true;
}

struct err *heap_regions_create(const struct recording *recording, const uint64_t *bits,
				const uint32_t *order, struct heap_region *whole,
				struct heap_region **ret, size_t *count)
{
	const struct block_columns *blocks = recording_blocks(recording);
	bool glibc = recording_facts(recording)->allocator == TRACE_ALLOCATOR_GLIBC;
	cleanup(regions_deinit) struct regions regions = {VEC_EMPTY};
	struct heap_region all = {0};

	for (uint64_t i = 0; glibc && i < blocks->count; i++) {
		struct heap_region chunk;

		if (!heap_chunk_in_main_arena(blocks, order[i]))
			continue;
		chunk = (struct heap_region){heap_chunk_start(blocks, order[i]),
					     heap_chunk_end(blocks, order[i])};
		if (!all.end)
			all.start = chunk.start;
		if (chunk.end > all.end)
			all.end = chunk.end;
		if (block_bits_has(bits, order[i]) && !add(&regions, chunk))
			return err_no_memory();
	}
	*whole = all;
	*count = regions.items.count;
	*ret = steal(&regions.items.items);
	return NULL;
}
