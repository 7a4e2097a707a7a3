/* What makes two groups of different recordings the same. */
#ifndef MALLOW_ANALYSIS_GROUPS_BLOCK_GROUP_KEY_H
#define MALLOW_ANALYSIS_GROUPS_BLOCK_GROUP_KEY_H

#include "analysis/groups/block_groups.h"
#include "hosted/buf.h"

/*
 * Appends the key of a group: equal keys, the same group. Threads, marks and pools are the same if
 * their names are, parts of the run if their numbers are, and what has a range if that is. Not for
 * groups of sites, which are the same by their numbers on common stacks (diff.h).
 */
void block_group_key_put(struct buf *buf, const struct block_groups *groups, uint32_t group);

#endif
