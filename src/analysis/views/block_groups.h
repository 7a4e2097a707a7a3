/*
 * Splits a recording's blocks into groups: by what becomes of them, by thread, by stack, or by
 * whose code asked for them. For views that show sums of groups side by side.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_BLOCK_GROUPS_H
#define MALLOW_ANALYSIS_VIEWS_BLOCK_GROUPS_H

#include "analysis/names/symbolized.h"
#include "analysis/recording.h"
#include "hosted/intern.h"

enum block_groups_by {
	BLOCK_GROUPS_FATE,
	BLOCK_GROUPS_FUNCTION,
	BLOCK_GROUPS_MODULE,
	BLOCK_GROUPS_THREAD,
	BLOCK_GROUPS_SITE,
};

/* The groups of BLOCK_GROUPS_FATE. */
enum block_fate { FATE_NEVER_FREED, FATE_FREED_LATE, FATE_FREED_SOON, FATE_COUNT };

struct block_groups {
	enum block_groups_by by;
	uint64_t late_ns; /* a block that lived so long or longer was freed late */
	/*
	 * A block is in group group_of[column[block]]. column NULL: by fate. group_of NULL: the
	 * column has the group.
	 */
	const uint32_t *column;
	uint32_t *group_of;
	uint32_t count;
	/* Of each group, by function and module: as a breakdown calls it. Else NULL. */
	const char **names;
	struct intern intern; /* has the names */
};

/*
 * By function and module a block is in the group of what a breakdown (breakdown.h) counts it for.
 * late_ns: for fates.
 * symbolized: for the others; it may be NULL by fate. The groups live no longer than the recording.
 */
struct err *block_groups_create(const struct recording *recording, struct symbolized *symbolized,
				enum block_groups_by by, uint64_t late_ns,
				struct block_groups *ret);
/* Accepts a zeroed struct. */
void block_groups_deinit(struct block_groups *groups);

static inline uint32_t block_groups_of(const struct block_groups *groups,
				       const struct block_columns *blocks, uint64_t i)
{
	uint64_t allocated = blocks->allocated_ns[i], freed = blocks->freed_ns[i];

	if (groups->column)
		return groups->group_of ? groups->group_of[groups->column[i]] : groups->column[i];
	if (freed == TIME_NEVER)
		return FATE_NEVER_FREED;
	return freed >= allocated && freed - allocated >= groups->late_ns ? FATE_FREED_LATE
									  : FATE_FREED_SOON;
}

#endif
