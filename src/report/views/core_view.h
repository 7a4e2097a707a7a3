/*
 * What a report of a core dump shows: sites with the size of each live block, and what the dump
 * says about itself.
 */
#ifndef MALLOW_REPORT_VIEWS_CORE_VIEW_H
#define MALLOW_REPORT_VIEWS_CORE_VIEW_H

#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "analysis/recording.h"
#include "hosted/json_writer.h"

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

/* The recording whose sites are shown, and where the blocks of these are. */
struct core_view_of {
	const struct recording *recording;
	const struct recording *whole;    /* has the blocks; if nothing is filtered, the same */
	const struct filter_match *match; /* the blocks that count; NULL: all */
	struct symbolized *symbolized;
};

/* Makes the view. All blocks that count are live. What `of` names must outlive it. */
struct err *core_view_create(const struct core_view_of *of, const struct core_view_options *options,
			     struct core_view *ret);
/* Accepts a zeroed struct. */
void core_view_deinit(struct core_view *view);

/* How many sizes of a site are printed if not all are. */
#define CORE_VIEW_SIZES 32

/*
 * Writes lines, indented by two columns: whose table it is, if not the process's own, and what of
 * it is missing. Nothing if the recording is of no core dump.
 */
void core_facts_put(struct buf *buf, const struct recording_facts *facts);

/* Writes an object, or null if the recording is of no core dump. */
void core_facts_json(struct json_writer *json, const struct recording_facts *facts);

/* "ended by SIGSEGV"; for a recording of a core dump. Valid until the thread's next call. */
const char *core_facts_end(const struct recording_facts *facts);

/* "SIGSEGV", "signal 40"; NULL: the dump names no signal. */
const char *core_facts_signal(const struct recording_facts *facts);

#endif
