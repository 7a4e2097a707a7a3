/* Groups of blocks by a value of theirs: a part of block_groups.h. */
#ifndef MALLOW_ANALYSIS_GROUPS_BLOCK_VALUES_H
#define MALLOW_ANALYSIS_GROUPS_BLOCK_VALUES_H

#include "analysis/groups/block_groups.h"

/* Fills zeroed groups, whose `by` is set. The errors are those of block_groups_create(). */
struct err *block_values_create(const struct recording *recording, struct block_groups *groups);

#endif
