/*
 * The data that `mallow top` shows: the sites of the latest reading of a recording, sorted,
 * filtered by a text, with their change since a mark. A site of an earlier reading is recognised by
 * its stack. top_text.h draws.
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
	TOP_BY_CHANGE, /* by the change of bytes since the mark, up or down */
	TOP_BY_CALLS,
};

/* A site that has something live now, or had at the mark. */
struct top_row {
	uint64_t key;  /* of its stack; the same in each reading */
	uint32_t site; /* index */
	int64_t change;
};

/* Zeroed: no reading yet. */
struct top_model {
	const struct plumbing *plumbing; /* struct naming; borrowed */
	struct symbolizer *symbolizer;
	struct recording *recording; /* the latest reading, owned; NULL: none */
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
 * Takes another reading of the same recording. The model owns it, also on failure. The first
 * reading is marked.
 */
struct err *top_model_take(struct top_model *model, struct recording *recording);

/* Closes the latest reading, and shows nothing until the next one is taken. */
void top_model_drop(struct top_model *model);

/*
 * These apply to the latest reading and to later ones. filter is copied, and cut if it is too long.
 */
struct err *top_model_sort(struct top_model *model, enum top_sort sort);
struct err *top_model_filter(struct top_model *model, const char *filter);
struct err *top_model_mark(struct top_model *model);

#endif
