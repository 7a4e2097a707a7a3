/*
 * Sums up the allocations of each stack, and of all together, as events are read.
 *
 * A site's share in the global peak is its live sums at that moment. But any new maximum may be the
 * last, and copying all sites at each would be quadratic. So a site saves its live sums when they
 * change for the first time after a new maximum.
 *
 * What a site had live over the run is kept in the same way, if wanted: time is cut into cells, and
 * a site notes what it had live when that changes for the first time in a cell. From these notes,
 * the latest first, its live bytes follow for the begin of each cell.
 */
#ifndef MALLOW_ANALYSIS_SITES_SITE_TABLE_H
#define MALLOW_ANALYSIS_SITES_SITE_TABLE_H

#include "analysis/recording.h"
#include "hosted/vec.h"

/* What is known of a site beside its sums, while events are read. */
struct site_state {
	uint64_t saved; /* the epoch in which it last changed */
	/* Usable bytes beyond those asked for: live now, and at the peak as of `saved`. */
	uint64_t slack, peak_slack;
	uint64_t handed_bytes, handed_blocks; /* as in struct site_facts */
	uint64_t few_pages[2]; /* the same, when facts_walk.h last looked at pages, and before */
};

/* What a site had live before it first changed in a cell. */
struct site_level {
	uint32_t site, cell;
	uint64_t live_bytes;
};

struct site_table {
	/* In the order of their first allocation. While loading, leaked means live. */
	VEC(struct site) sites;

	/* Not used after site_table_finish(). */
	VEC(uint32_t) by_node; /* from stack node + 1 to site; 0 is the empty stack */
	VEC(struct site_state) states;
	VEC(struct site_level) levels; /* in the order of time */
	bool levels_failed;            /* no memory: some are missing */
	uint32_t cell;                 /* the present one */
	uint64_t epoch;                /* a maximum, or a cell, begins a new one */
	uint64_t cell_epoch;           /* that of the cell; 0: it is the first */
	uint64_t peak;                 /* that of the latest maximum; 0: there was none */
	uint64_t peak_ticks;
	uint64_t peak_block;              /* whose allocation reached it: site_table_peak_block() */
	struct recording_summary summary; /* live_bytes and leaked_blocks are kept up to date */
};

void site_table_deinit(struct site_table *table);

/* Adds a site. The caller knows that there is none with that stack. */
struct err *site_table_append(struct site_table *table, uint32_t node, uint32_t *ret);

/* *ret: the site of a stack, by its innermost node or RECORDING_NONE. It is made if it is new. */
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

/* Begins a cell. Cells never go back. */
static inline void site_table_begin_cell(struct site_table *table, uint32_t cell)
{
	table->cell = cell;
	table->cell_epoch = ++table->epoch;
}

/* Makes each two cells one, from now on and of what was noted. */
void site_table_join_cells(struct site_table *table);

/* Notes what the site has live, before it changes for the first time in the cell. */
void site_table_note_level(struct site_table *table, uint32_t index);

/*
 * The site, for a change of what it has live. Saves its live sums first if there was a new maximum
 * since the last change.
 */
static inline struct site *site_table_change(struct site_table *table, uint32_t index)
{
	struct site *site = &table->sites.items[index];
	struct site_state *state = &table->states.items[index];

	if (state->saved != table->epoch) {
		if (state->saved < table->peak) {
			site->peak_bytes = site->leaked_bytes;
			site->peak_blocks = site->leaked_blocks;
			state->peak_slack = state->slack;
		}
		if (state->saved < table->cell_epoch)
			site_table_note_level(table, index);
		state->saved = table->epoch;
	}
	return site;
}

/*
 * count blocks of that size begin; more than one if a sample stands for others. block: a number of
 * the caller's.
 */
static inline void site_table_born(struct site_table *table, uint32_t index, uint64_t size,
				   uint64_t count, uint64_t ticks, uint64_t block)
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
		table->peak = ++table->epoch;
		table->peak_ticks = ticks;
		table->peak_block = block;
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

/* Adds allocations that were not taken one by one, and that have ended: to the sums only. */
static inline void site_table_add(struct site_table *table, uint32_t index, uint64_t calls,
				  uint64_t bytes, uint64_t temporary)
{
	struct site *site = &table->sites.items[index];

	site->calls += calls;
	site->total_bytes += bytes;
	site->temporary += temporary;
}

/*
 * The block whose allocation reached the peak. UINT64_MAX: nothing was ever live, or the table was
 * not made of events.
 */
static inline uint64_t site_table_peak_block(const struct site_table *table)
{
	return table->peak ? table->peak_block : UINT64_MAX;
}

/* Keeps the present moment as the peak: later maxima do not count. */
void site_table_hold_peak(struct site_table *table);

/* The sum of all sites, without the moment of the peak. */
struct recording_summary site_table_sum(const struct site_table *table);

/* To be called after the last event. The caller sets the summary's peak_time_ns. */
void site_table_finish(struct site_table *table, struct recording_summary *summary);

#endif
