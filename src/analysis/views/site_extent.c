#include "analysis/views/site_extent.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread, and the extents that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

/* The blocks are cut into pieces; each has extents of its own, which are added up in the end. */
struct summing {
	const struct block_columns *blocks;
	const uint64_t *bits;
	uint64_t sample_mean;
	uint64_t piece; /* blocks of a piece, words of bits as a whole */
	uint32_t sites;
	struct site_extent *extents; /* sites of them for each piece, one piece after the other */
};

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
		extent->min_size = UINT64_MAX;
		extent->first_ns = blocks->allocated_ns[i];
		extent->first = i;
	}
	extent->last_ns = blocks->allocated_ns[i];
	extent->calls += weight;
	extent->leaked += weight * (blocks->freed_ns[i] == TIME_NEVER);
	extent->size += weight * blocks->size[i];
	widen(blocks->size[i], &extent->min_size, &extent->max_size);
}

static void add_piece(void *argument, size_t number)
{
	const struct summing *summing = argument;
	const struct block_columns *blocks = summing->blocks;
	struct site_extent *extents = summing->extents + number * summing->sites;
	uint64_t begin = number * summing->piece, end = begin + summing->piece;
	uint64_t mean = summing->sample_mean;

	if (end > blocks->count)
		end = blocks->count;
	for (uint64_t i = block_bits_next(summing->bits, end, begin); i < end;
	     i = block_bits_next(summing->bits, end, i + 1))
		add(&extents[blocks->site[i]], blocks, i,
		    mean ? sample_weight(mean, blocks->size[i], i + 1) : 1);
}

/* What comes later in the recording. */
static void join(struct site_extent *extent, const struct site_extent *later)
{
	if (!later->calls)
		return;
	if (!extent->calls) {
		*extent = *later;
		return;
	}
	extent->last_ns = later->last_ns;
	extent->calls += later->calls;
	extent->leaked += later->leaked;
	extent->size += later->size;
	widen(later->min_size, &extent->min_size, &extent->max_size);
	widen(later->max_size, &extent->min_size, &extent->max_size);
}

/* Of all blocks most is known already, and what was culled is in no block. */
static struct err *extents_of_all(const struct recording *recording, struct site_extent **ret)
{
	const struct site_span *spans;
	const struct site *sites;
	struct site_extent *extents;
	struct err *err;
	uint32_t count;

	sites = recording_sites(recording, &count);
	err = recording_site_spans(recording, &spans);
	if (err)
		return err;
	extents = calloc((size_t)count + 1, sizeof(*extents));
	if (!extents)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		extents[i] = (struct site_extent){
			.calls = sites[i].calls,
			.leaked = sites[i].leaked_blocks,
			.size = sites[i].total_bytes,
			.min_size = spans[i].smallest,
			.max_size = spans[i].largest,
			.first_ns = spans[i].first_ns,
			.last_ns = spans[i].last_ns,
			.first = i,
		};
	*ret = extents;
	return NULL;
}

struct err *site_extents_create(const struct recording *recording, const uint64_t *bits,
				struct site_extent **ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	size_t pieces = parallel_pieces(blocks->count, PIECE_MIN);
	struct summing summing = {
		.blocks = blocks,
		.bits = bits,
		.sample_mean = recording_facts(recording)->sample_mean,
		.piece = (blocks->count / pieces / 64 + 1) * 64,
	};
	auto_free struct site_extent *extents = NULL;

	if (!bits)
		return extents_of_all(recording, ret);
	recording_sites(recording, &summing.sites);
	extents = calloc(((size_t)summing.sites + 1) * pieces, sizeof(*extents));
	if (!extents)
		return err_no_memory();
	summing.extents = extents;
	parallel_run(add_piece, &summing, pieces);
	for (size_t i = summing.sites; i < summing.sites * pieces; i++)
		join(&extents[i % summing.sites], &extents[i]);
	*ret = steal(&extents);
	return NULL;
}
