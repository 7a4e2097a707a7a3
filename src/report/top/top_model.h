/*
 * What `mallow top` shows, from one reading of a recording to the next: its sites in an order,
 * those that a text is found in, and what became of each since a mark. Sites are known again by
 * their stacks. Draws nothing: top_text.h.
 */
#ifndef MALLOW_REPORT_TOP_TOP_MODEL_H
#define MALLOW_REPORT_TOP_TOP_MODEL_H

#include "analysis/live/live_facts.h"
#include "analysis/names/symbolized.h"
#include "hosted/map.h"
#include "hosted/vec.h"

#define TOP_FILTER_MAX 64

enum top_sort {
	TOP_BY_SIZE,
	TOP_BY_COUNT,
	TOP_BY_CHANGE, /* of the bytes since the mark, whichever way */
	TOP_BY_CALLS,
};

/* A site that has something live, or had at the mark. */
struct top_row {
	uint64_t key;  /* of its stack: the same in each reading */
	uint32_t site; /* index */
	int64_t change;
};

/* Zeroed: nothing was read yet. */
struct top_model {
	struct symbolizer *symbolizer;
	struct recording *recording; /* owned, the latest reading; NULL: none */
	struct symbolized *symbolized;
	VEC(struct top_row) rows;
	VEC(uint64_t) history; /* live bytes at each reading */
	enum top_sort sort;
	char filter[TOP_FILTER_MAX]; /* "": all */
	struct map marked;           /* key to live bytes */
	uint64_t mark_bytes, mark_ns;
};

/* Accepts a zeroed one. */
void top_model_deinit(struct top_model *model);

/*
 * Another reading of the same recording, which becomes the model's, also if this fails. The first
 * one is marked.
 */
struct err *top_model_take(struct top_model *model, struct recording *recording);

/* Of the latest reading, from now on. filter: borrowed, cut where it is too long. */
struct err *top_model_sort(struct top_model *model, enum top_sort sort);
struct err *top_model_filter(struct top_model *model, const char *filter);
struct err *top_model_mark(struct top_model *model);

#endif
