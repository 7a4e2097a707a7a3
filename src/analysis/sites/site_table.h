/*
 * What the allocations of each stack come to, and of all together, summed up as events come.
 *
 * The share of each site in the global peak is not known until the peak is, and copying all sites
 * at each new one would be quadratic. So a site saves its live sums when they change for the
 * first time after a peak: `saved` tells which peak it has saved for.
 */
#ifndef MALLOW_ANALYSIS_SITES_SITE_TABLE_H
#define MALLOW_ANALYSIS_SITES_SITE_TABLE_H

#include "analysis/recording.h"
#include "hosted/vec.h"

struct site_table {
	/* In the order of their first allocations. While loading leaked means live. */
	VEC(struct site) sites;

	/* Of no use after site_table_finish(). */
	VEC(uint32_t) by_node; /* stack node + 1 to site, 0 is the empty stack */
	VEC(uint64_t) saved;
	uint64_t peak; /* number of the latest global peak */
	uint64_t peak_ticks;
	struct recording_summary summary; /* live_bytes and leaked_blocks are running sums */
};

void site_table_deinit(struct site_table *table);

/* A new site, of which the caller knows that there is none of that stack. */
struct err *site_table_append(struct site_table *table, uint32_t node, uint32_t *ret);

/* The site of a stack, by its innermost node or RECORDING_NONE; made if it is new. */
struct err *site_table_make(struct site_table *table, uint32_t node, uint32_t *ret);

static inline struct err *site_table_at(struct site_table *table, uint32_t node, uint32_t *ret)
{
	uint32_t index = node + 1;

	if (__builtin_expect(index < table->by_node.count, 1) &&
	    __builtin_expect(table->by_node.items[index] != RECORDING_NONE, 1)) {
		*ret = table->by_node.items[index];
		return NULL;
	}
	return site_table_make(table, node, ret);
}

static inline struct site *site_table_change(struct site_table *table, uint32_t index)
{
	struct site *site = &table->sites.items[index];

	if (table->saved.items[index] != table->peak) {
		table->saved.items[index] = table->peak;
		site->peak_bytes = site->leaked_bytes;
		site->peak_blocks = site->leaked_blocks;
	}
	return site;
}

/* count blocks of that size: more than one where a sample stands for others. */
static inline void site_table_born(struct site_table *table, uint32_t index, uint64_t size,
				   uint64_t count, uint64_t ticks)
{
	struct recording_summary *summary = &table->summary;
	struct site *site = site_table_change(table, index);

	site->calls += count;
	site->total_bytes += size * count;
	site->leaked_blocks += count;
	site->leaked_bytes += size * count;
	if (site->leaked_bytes > site->own_peak_bytes)
		site->own_peak_bytes = site->leaked_bytes;
	summary->leaked_blocks += count;
	summary->live_bytes += size * count;
	if (summary->live_bytes > summary->peak_bytes) {
		table->peak++;
		table->peak_ticks = ticks;
		summary->peak_bytes = summary->live_bytes;
		summary->peak_blocks = summary->leaked_blocks;
	}
}

static inline void site_table_died(struct site_table *table, uint32_t index, uint64_t size,
				   uint64_t count, bool temporary)
{
	struct site *site = site_table_change(table, index);

	site->leaked_blocks -= count;
	site->leaked_bytes -= size * count;
	site->temporary += temporary * count;
	table->summary.leaked_blocks -= count;
	table->summary.live_bytes -= size * count;
	table->summary.temporary += temporary * count;
}

/* Allocations that were not taken one by one, and ended: they are in the sums alone. */
static inline void site_table_add(struct site_table *table, uint32_t index, uint64_t calls,
				  uint64_t bytes, uint64_t temporary)
{
	struct site *site = &table->sites.items[index];

	site->calls += calls;
	site->total_bytes += bytes;
	site->temporary += temporary;
}

/* From now on no peak counts any more: in the end what is live now is called the peak. */
void site_table_hold_peak(struct site_table *table);

/* What the sites come to together, but for the moment of the peak. */
struct recording_summary site_table_sum(const struct site_table *table);

/* All events are in. The summary's peak_time_ns is left to the caller. */
void site_table_finish(struct site_table *table, struct recording_summary *summary);

#endif
