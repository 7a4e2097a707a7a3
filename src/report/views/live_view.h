/* What a report of live allocations shows: chosen here, so that text, JSON and stacks agree. */
#ifndef MALLOW_REPORT_VIEWS_LIVE_VIEW_H
#define MALLOW_REPORT_VIEWS_LIVE_VIEW_H

#include "analysis/live/live_facts.h"
#include "analysis/names/symbolized.h"
#include "hosted/buf.h"
#include "hosted/proc.h"
#include "report/views/live_ignore.h"

enum live_key {
	LIVE_BY_SIZE,
	LIVE_BY_COUNT,
	LIVE_KEY_COUNT,
};

struct live_view_options {
	enum live_key key;
	uint32_t top;                        /* backtraces shown at most, 0: all */
	uint32_t depth;                      /* lines of each that are printed */
	bool full;                           /* nothing is folded; depth counts frames */
	const struct live_ignore *ignore;    /* NULL: nothing is */
	const struct process_memory *memory; /* of the process, NULL: not known */
	const char *name;                    /* of the process */
};

struct live_view {
	struct live_view_options options;
	const struct recording *recording;
	struct symbolized *symbolized;
	uint32_t *order; /* indices of the sites shown, which have something live */
	uint32_t shown;
	uint32_t live;          /* how many sites could be shown, ignored ones left out */
	uint64_t ignored_sites; /* as far as they were looked at */
	uint64_t ignored_bytes;
};

/*
 * Makes the view. All arguments must outlive it, and recording_live() of the recording must not be
 * NULL.
 */
struct err *live_view_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct live_view_options *options, struct live_view *ret);
/* Accepts a zeroed struct. */
void live_view_deinit(struct live_view *view);

/* As typed: "size", "count". */
const char *live_key_name(enum live_key key);

/* The sites shown as collapsed stacks of their live bytes. */
struct err *live_view_collapsed(struct buf *buf, const struct live_view *view);

#endif
