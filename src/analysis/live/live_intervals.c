/* How far the estimates of a sampled table may be off: for each site, and for all together. */
#include <stdlib.h>

#include "analysis/live/live_load.h"
#include "hosted/cleanup.h"

struct live_spread {
	struct sample_spread bytes, blocks;
};

static void spread_add(struct live_spread *spread, uint64_t mean, uint64_t size)
{
	sample_spread_add(&spread->bytes, mean, size, size);
	sample_spread_add(&spread->blocks, mean, size, 1);
}

static struct live_interval interval_of(const struct live_spread *spread, uint64_t bytes,
					uint64_t blocks)
{
	return (struct live_interval){
		.bytes = sample_interval(&spread->bytes, bytes),
		.blocks = sample_interval(&spread->blocks, blocks),
	};
}

/* Gathers the blocks of each site, by its index, and of all. */
static struct err *spread_blocks(struct load *load, const uint32_t *nodes,
				 struct live_spread *of_site, struct live_spread *all)
{
	const struct live_snapshot *snapshot = &load->live;
	uint64_t mean = load->header.sample_mean;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < snapshot->blocks.count; i++) {
		const struct found_block *block = &snapshot->blocks.list[i];
		uint32_t index = 0;

		if (!live_snapshot_counts(snapshot, block->site))
			continue;
		err = site_table_at(&load->recording->sites, nodes[block->site], &index);
		if (err)
			break;
		spread_add(&of_site[index], mean, block->size);
		spread_add(all, mean, block->size);
	}
	return err;
}

struct err *live_intervals_make(struct load *load, const uint32_t *nodes)
{
	struct live_data *live = &load->recording->tables->live;
	size_t count = load->recording->sites.sites.count;
	auto_free struct live_spread *of_site = calloc(count + 1, sizeof(*of_site));
	struct live_spread all = {0};
	uint64_t bytes = 0, blocks = 0;
	struct err *err;

	if (!of_site)
		return err_no_memory();
	err = spread_blocks(load, nodes, of_site, &all);
	for (size_t i = 0; !err && i < count; i++) {
		const struct site *site = &load->recording->sites.sites.items[i];

		bytes += site->leaked_bytes;
		blocks += site->leaked_blocks;
		if (!vec_push(&live->intervals,
			      interval_of(&of_site[i], site->leaked_bytes, site->leaked_blocks)))
			err = err_no_memory();
	}
	live->facts.all = interval_of(&all, bytes, blocks);
	return err;
}
