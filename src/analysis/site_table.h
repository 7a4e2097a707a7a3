/* What the allocations of each stack come to, and of all together. */
#ifndef MALLOW_ANALYSIS_SITE_TABLE_H
#define MALLOW_ANALYSIS_SITE_TABLE_H

#include "analysis/block_store.h"

struct site_table {
	VEC(struct site) sites; /* in the order of their first allocations */
};

void site_table_deinit(struct site_table *table);

/*
 * Makes the sites from the blocks, whose site column names stack nodes of the trie before they
 * were renamed, and names sites afterwards. nodes: the new number of each of the node_count
 * nodes. The blocks' times are nanoseconds already.
 */
struct err *site_table_build(struct site_table *table, struct block_store *blocks,
			     const uint32_t *nodes, uint32_t node_count,
			     struct recording_summary *summary);

#endif
