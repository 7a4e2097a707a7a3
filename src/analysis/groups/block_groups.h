/*
 * Splits a recording's blocks into groups: by what becomes of them, by thread, by stack, by whose
 * code asked for them, or by a value of theirs. For views that show sums of groups side by side.
 */
#ifndef MALLOW_ANALYSIS_GROUPS_BLOCK_GROUPS_H
#define MALLOW_ANALYSIS_GROUPS_BLOCK_GROUPS_H

#include "analysis/groups/scale.h"
#include "analysis/names/symbolized.h"
#include "analysis/recording.h"
#include "hosted/intern.h"

enum block_groups_by {
#define BLOCK_GROUPS(NAME, name) BLOCK_GROUPS_##NAME,
#include "analysis/groups/block_groups.def"
#undef BLOCK_GROUPS
	BLOCK_GROUPS_COUNT,
};

/* The groups of BLOCK_GROUPS_FATE. */
enum block_fate { FATE_NEVER_FREED, FATE_FREED_LATE, FATE_FREED_SOON, FATE_COUNT };

/* BLOCK_GROUPS_TIME: so many equal parts of the run. */
#define BLOCK_GROUPS_TIMES 64

struct block_groups {
	enum block_groups_by by;
	uint64_t late_ns; /* a block that lived so long or longer was freed late */
	/*
	 * A block is in group group_of[column[block]]. column NULL: its values tell it. group_of
	 * NULL: the column has the group.
	 */
	const uint32_t *column;
	uint32_t *group_of;
	uint32_t count;
	/*
	 * Of each group, by place, function, frame, file, line and module: what it is called, a
	 * place after its function. A function in another module than the program's is followed by
	 * that module in brackets. A function without a symbol, or a file that is not known, is
	 * only the module in brackets. Else NULL.
	 */
	const char **names;
	/* If there are names: a frame of each group; NULL: there was no stack. */
	const struct named_frame **frames;
	const struct named_frame **calls; /* by place: the call made there; NULL: none. Else NULL */
	struct intern intern;             /* has the names */

	/* For groups by a value. */
	struct scale scale;    /* by size and lifetime */
	uint64_t *bounds;      /* by time and mark: where each begins; by tag and few sizes: each */
	const char **marks;    /* by mark: the names; the first is "[start]", before all marks */
	uint32_t *made_column; /* by pool: owned */
	const struct recording *recording;
};

/*
 * By function, frame, file, line and module a block is in the group of the frame that asked for it
 * (site_groups.h), by place in that of a row of the report (places.h). late_ns: for fates.
 * symbolized: for these; it may be NULL by anything else, and must outlive the groups. The groups
 * live no longer than the recording. An error: no memory, or the recording knows no marks, tags or
 * pools.
 */
struct err *block_groups_create(const struct recording *recording, struct symbolized *symbolized,
				enum block_groups_by by, uint64_t late_ns,
				struct block_groups *ret);

/*
 * Is told of a group and a site whose stack the group is in: of each pair once, of the sites in
 * their order.
 */
typedef void block_groups_member(void *argument, uint32_t group, uint32_t site);

/* Whether groups are of frames, so that a stack has several: block_groups_create_inclusive(). */
static inline bool block_groups_are_frames(enum block_groups_by by)
{
	return by == BLOCK_GROUPS_FUNCTION || by == BLOCK_GROUPS_FRAME || by == BLOCK_GROUPS_FILE ||
	       by == BLOCK_GROUPS_LINE || by == BLOCK_GROUPS_MODULE;
}

/*
 * By one of these: blocks are in the same groups, but frames that only called others have groups,
 * too. Groups are in the order in which frames are met, of each site innermost first. member NULL:
 * nobody is told.
 */
struct err *block_groups_create_inclusive(const struct recording *recording,
					  struct symbolized *symbolized, enum block_groups_by by,
					  block_groups_member *member, void *argument,
					  struct block_groups *ret);
/*
 * By size: a group for each size that blocks of bits (block_bits.h) have. If these are more than
 * `most`, the same as block_groups_create(). The only error: no memory.
 */
struct err *block_groups_create_sizes(const struct recording *recording, const uint64_t *bits,
				      uint32_t most, struct block_groups *ret);
/* Accepts a zeroed struct. */
void block_groups_deinit(struct block_groups *groups);

/* The group of a block by a value of its own. */
uint32_t block_groups_of_value(const struct block_groups *groups,
			       const struct block_columns *blocks, uint64_t i);

static inline uint32_t block_groups_of(const struct block_groups *groups,
				       const struct block_columns *blocks, uint64_t i)
{
	uint64_t allocated = blocks->allocated_ns[i], freed = blocks->freed_ns[i];

	if (groups->column)
		return groups->group_of ? groups->group_of[groups->column[i]] : groups->column[i];
	if (groups->by != BLOCK_GROUPS_FATE)
		return block_groups_of_value(groups, blocks, i);
	if (freed == TIME_NEVER)
		return FATE_NEVER_FREED;
	return freed >= allocated && freed - allocated >= groups->late_ns ? FATE_FREED_LATE
									  : FATE_FREED_SOON;
}

/* Whether all blocks of a site are in one group: block_groups_of_site(). */
static inline bool block_groups_of_sites(const struct block_groups *groups)
{
	return groups->by == BLOCK_GROUPS_SITE || groups->names;
}

static inline uint32_t block_groups_of_site(const struct block_groups *groups, uint32_t site)
{
	return groups->group_of ? groups->group_of[site] : site;
}

/* "function" and so on. */
const char *block_groups_word(enum block_groups_by by);

/* Whether groups are ranges of a value: by size, lifetime, time, mark and tag. */
static inline bool block_groups_have_ranges(const struct block_groups *groups)
{
	return groups->bounds || groups->scale.count;
}

/*
 * If groups have ranges: the least and the largest value of a group, as conditions
 * of a filter take them. false: the group has none.
 */
bool block_groups_range(const struct block_groups *groups, uint32_t group, uint64_t *least,
			uint64_t *largest);

#endif
