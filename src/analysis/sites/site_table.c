#include "analysis/sites/site_table.h"

#include <string.h>

void site_table_deinit(struct site_table *table)
{
	vec_deinit(&table->sites);
	vec_deinit(&table->by_node);
	vec_deinit(&table->saved);
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
	    !vec_push(&table->saved, table->peak))
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

void site_table_hold_peak(struct site_table *table)
{
	table->peak++;
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
	vec_deinit(&table->saved);
}
