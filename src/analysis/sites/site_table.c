#include "analysis/sites/site_table.h"

#include <string.h>

void site_table_deinit(struct site_table *table)
{
	vec_deinit(&table->sites);
	vec_deinit(&table->by_node);
	vec_deinit(&table->states);
	vec_deinit(&table->levels);
}

static bool cover(struct site_table *table, uint32_t index)
{
	size_t count = table->by_node.count;

	if (index < count)
		return true;
	if (!vec_reserve(&table->by_node, index - count + 1))
		return false;
	count = table->by_node.capacity - count;
	memset(table->by_node.items + table->by_node.count, 0xff, count * sizeof(uint32_t));
	table->by_node.count = table->by_node.capacity;
	return true;
}

struct err *site_table_append(struct site_table *table, uint32_t node, uint32_t *ret)
{
	struct site site = {.stack = node};

	if (table->sites.count >= RECORDING_NONE || !vec_reserve(&table->sites, 1) ||
	    !vec_push(&table->states, (struct site_state){0}))
		return err_no_memory();
	table->sites.items[table->sites.count] = site;
	*ret = (uint32_t)table->sites.count++;
	return NULL;
}

struct err *site_table_make(struct site_table *table, uint32_t node, uint32_t *ret)
{
	uint32_t *index;

	if (!cover(table, node + 1))
		return err_no_memory();
	index = &table->by_node.items[(uint32_t)(node + 1)];
	if (*index == RECORDING_NONE) {
		struct err *err = site_table_append(table, node, index);

		if (err)
			return err;
	}
	*ret = *index;
	return NULL;
}

void site_table_note_level(struct site_table *table, uint32_t index)
{
	struct site_level level = {index, table->cell, table->sites.items[index].leaked_bytes};

	table->levels_failed |= !vec_push(&table->levels, level);
}

/*
 * Of two notes of a site in what becomes one cell, the earlier one stays. At the begin of the first
 * cell nothing was live.
 */
void site_table_join_cells(struct site_table *table)
{
	uint32_t *noted = calloc(table->sites.count + 1, sizeof(*noted)); /* a cell */
	size_t kept = 0;

	table->levels_failed |= !noted;
	for (size_t i = 0; noted && i < table->levels.count; i++) {
		struct site_level level = table->levels.items[i];

		level.cell /= 2;
		if (!level.cell || noted[level.site] == level.cell)
			continue;
		noted[level.site] = level.cell;
		table->levels.items[kept++] = level;
	}
	table->levels.count = kept;
	table->cell /= 2;
	free(noted);
}

void site_table_hold_peak(struct site_table *table)
{
	table->peak = ++table->epoch;
	table->peak_block = UINT64_MAX;
	table->summary.peak_bytes = UINT64_MAX; // nothing exceeds it
}

struct recording_summary site_table_sum(const struct site_table *table)
{
	struct recording_summary summary = {0};

	for (size_t i = 0; i < table->sites.count; i++) {
		const struct site *site = &table->sites.items[i];

		summary.calls += site->calls;
		summary.total_bytes += site->total_bytes;
		summary.peak_bytes += site->peak_bytes;
		summary.peak_blocks += site->peak_blocks;
		summary.leaked_bytes += site->leaked_bytes;
		summary.leaked_blocks += site->leaked_blocks;
		summary.temporary += site->temporary;
	}
	summary.live_bytes = summary.leaked_bytes;
	return summary;
}

void site_table_finish(struct site_table *table, struct recording_summary *summary)
{
	for (uint32_t i = 0; i < table->sites.count; i++)
		site_table_change(table, i);
	*summary = site_table_sum(table);
	vec_deinit(&table->by_node);
	vec_deinit(&table->states);
	vec_deinit(&table->levels);
}
