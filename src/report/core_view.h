/* What a report of a core dump shows: sites with the size of each live block. */
#ifndef MALLOW_REPORT_CORE_VIEW_H
#define MALLOW_REPORT_CORE_VIEW_H

#include "analysis/names/symbolized.h"

struct core_view_options {
	bool by_count;    /* order: the sites with most blocks first, not most bytes */
	uint32_t top;     /* sites shown at most; 0: all */
	bool all_sizes;   /* print them all, however many they are */
	const char *path; /* of the dump */
};

struct core_view {
	struct core_view_options options;
	const struct recording *recording;
	struct symbolized *symbolized;
	uint32_t *order; /* indices of the sites that have live blocks */
	uint32_t live;   /* how many these are … */
	uint32_t shown;  /* … and how many of them are shown */
	/*
	 * The sizes of the blocks of site i, by address: sizes[first[i]] to sizes[first[i + 1] -
	 * 1]. In a sample these are fewer blocks than the site stands for.
	 */
	uint64_t *sizes;
	uint32_t *first;
};

/*
 * Makes the view of a recording with blocks, all of which are live. All arguments must outlive it.
 */
struct err *core_view_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct core_view_options *options, struct core_view *ret);
/* Accepts a zeroed struct. */
void core_view_deinit(struct core_view *view);

/* How many sizes of a site are printed if not all are. */
#define CORE_VIEW_SIZES 32

#endif
