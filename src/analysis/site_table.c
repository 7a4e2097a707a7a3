#include "analysis/site_table.h"

#include <string.h>

#include "hosted/cleanup.h"

/*
 * The share of each site in the global peak is not known until the peak is, and copying all sites
 * at each new one would be quadratic. So a site saves its live sums when they change for the
 * first time after a peak: `peak` tells which peak it has saved for.
 */
struct running_site {
	uint64_t live_bytes, live_blocks;
	uint64_t peak;
};

struct running {
	struct site *sites;
	struct running_site *running;
	uint64_t peak; /* number of the latest global peak */
	uint64_t live_bytes, live_blocks;
};

void site_table_deinit(struct site_table *table)
{
	vec_deinit(&table->sites);
}

/* Replaces nodes by sites in the blocks' column. */
static struct err *assign_sites(struct site_table *table, struct block_store *blocks,
				const uint32_t *nodes, uint32_t node_count)
{
	// One element more, for the empty stack.
	auto_free uint32_t *by_node = malloc(((size_t)node_count + 1) * sizeof(*by_node));

	if (!by_node)
		return err_no_memory();
	memset(by_node, 0xff, ((size_t)node_count + 1) * sizeof(*by_node));
	for (size_t i = 0; i < blocks->count; i++) {
		uint32_t node = blocks->site[i];
		uint32_t renamed = node == RECORDING_NONE ? node_count : nodes[node];

		if (by_node[renamed] == RECORDING_NONE) {
			struct site site = {
				.stack = node == RECORDING_NONE ? RECORDING_NONE : renamed,
			};

			if (table->sites.count >= RECORDING_NONE || !vec_push(&table->sites, site))
				return err_no_memory();
			by_node[renamed] = (uint32_t)table->sites.count - 1;
		}
		blocks->site[i] = by_node[renamed];
	}
	return NULL;
}

static void save_peak(struct running *all, uint32_t index)
{
	struct running_site *running = &all->running[index];

	if (running->peak == all->peak)
		return;
	running->peak = all->peak;
	all->sites[index].peak_bytes = running->live_bytes;
	all->sites[index].peak_blocks = running->live_blocks;
}

static void born(struct running *all, uint32_t index, uint64_t size)
{
	struct site *site = &all->sites[index];
	struct running_site *running = &all->running[index];

	save_peak(all, index);
	site->calls++;
	site->total_bytes += size;
	running->live_blocks++;
	running->live_bytes += size;
	if (running->live_bytes > site->own_peak_bytes)
		site->own_peak_bytes = running->live_bytes;
	all->live_blocks++;
	all->live_bytes += size;
}

static void died(struct running *all, uint32_t index, uint64_t size)
{
	save_peak(all, index);
	all->running[index].live_blocks--;
	all->running[index].live_bytes -= size;
	all->live_blocks--;
	all->live_bytes -= size;
}

static void replay(struct running *all, const struct block_store *blocks,
		   struct recording_summary *summary)
{
	for (size_t i = 0; i < blocks->log.count; i++) {
		uint64_t entry = blocks->log.items[i];
		uint64_t block = entry >> 1;

		if (entry & 1) {
			died(all, blocks->site[block], blocks->size[block]);
			continue;
		}
		born(all, blocks->site[block], blocks->size[block]);
		if (all->live_bytes > summary->peak_bytes) {
			all->peak++;
			summary->peak_bytes = all->live_bytes;
			summary->peak_blocks = all->live_blocks;
			summary->peak_time_ns = blocks->allocated[block];
		}
	}
}

static void add_up(const struct site_table *table, struct running *all,
		   struct recording_summary *summary)
{
	for (uint32_t i = 0; i < table->sites.count; i++) {
		struct site *site = &table->sites.items[i];

		save_peak(all, i);
		site->leaked_bytes = all->running[i].live_bytes;
		site->leaked_blocks = all->running[i].live_blocks;
		summary->calls += site->calls;
		summary->total_bytes += site->total_bytes;
	}
	summary->live_bytes = summary->leaked_bytes = all->live_bytes;
	summary->leaked_blocks = all->live_blocks;
}

struct err *site_table_build(struct site_table *table, struct block_store *blocks,
			     const uint32_t *nodes, uint32_t node_count,
			     struct recording_summary *summary)
{
	struct err *err;

	err = assign_sites(table, blocks, nodes, node_count);
	if (err)
		return err;

	size_t count = table->sites.count;
	auto_free struct running_site *running = calloc(count ? count : 1, sizeof(*running));
	struct running all = {.sites = table->sites.items, .running = running};

	if (!running)
		return err_no_memory();
	*summary = (struct recording_summary){0};
	replay(&all, blocks, summary);
	add_up(table, &all, summary);
	summary->temporary = blocks->temporary.count;
	for (size_t i = 0; i < blocks->temporary.count; i++)
		table->sites.items[blocks->site[blocks->temporary.items[i]]].temporary++;
	vec_deinit(&blocks->log);
	vec_deinit(&blocks->temporary);
	return NULL;
}
