/*
 * A filter: which allocations a user wants to see. It has conditions, each a name and a text, and
 * matches the blocks for which all of them hold. filter.def lists the conditions; docs/filter.md
 * says exactly what they mean.
 *
 *	filter_set(filter, "size_min", "1K")    conditions
 *	filter_match()                          one bit for each block
 *	filtered_create()                       their sums, as a recording: filtered.h
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_H
#define MALLOW_ANALYSIS_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/names/symbolized.h"
#include "analysis/recording.h"
#include "hosted/cleanup.h"

struct filter;

/* A condition of filter.def: its name, and what it takes. */
struct filter_parameter {
	const char *name;    /* "size_min" */
	const char *value;   /* what help calls its value: "SIZE" */
	const char *text;    /* what it does */
	const char *choices; /* the words allowed, separated by spaces; NULL: any */
};

const struct filter_parameter *filter_parameters(size_t *count);

/*
 * What a condition is called as an option of a command, without dashes: "size-min" of size_min, and
 * "at" of alive_at, which is the commands' word for a moment. ret: FILTER_OPTION_SIZE bytes.
 */
#define FILTER_OPTION_SIZE 40
#define FILTER_OPTION_AT   "at"
void filter_option_name(const char *condition, char *ret);

/* A filter without conditions, which matches all blocks. */
struct err *filter_create(struct filter **ret);
/* Accepts NULL. */
void filter_destroy(struct filter *filter);
CLEANUP_DEFINE(struct filter *, filter_destroy);

/*
 * Sets a condition as the user typed it; it replaces an earlier one of that name. Both texts are
 * copied. name may be that of the option, with dashes in front or without. The error says name and
 * value as typed, and what is allowed.
 */
struct err *filter_set(struct filter *filter, const char *name, const char *value);

bool filter_is_empty(const struct filter *filter);

/* The value of a condition as typed. parameter: index in filter_parameters(). NULL: not set. */
const char *filter_value(const struct filter *filter, size_t parameter);

/* The value of the condition alive_at as typed. filter: may be NULL. NULL: not set. */
const char *filter_alive_at(const struct filter *filter);

/* Bit i % 64 of words[i / 64]: block i matches. Zeroed: empty. */
struct filter_match {
	uint64_t count;  /* how many blocks match */
	uint64_t blocks; /* how many blocks the recording has */
	uint64_t *words; /* owned; bits from `blocks` on are 0 */
};

void filter_match_deinit(struct filter_match *match);

/*
 * Finds the blocks that match. recording: opened with RECORDING_BLOCKS. Conditions on a block's
 * group are about all allocations with its stack, as in struct site: also those that CULL only
 * counted; estimates in a sample. symbolized: this recording's; it must belong to this thread.
 * Frames are named only if a condition needs names. An error: the recording lacks a mark that a
 * moment names, or a regular expression is too costly.
 */
struct err *filter_match(const struct filter *filter, const struct recording *recording,
			 struct symbolized *symbolized, struct filter_match *ret);

/*
 * The same for an aggregate, which has no blocks: *ret is a copy with the sites that match, as
 * filtered_create() makes it; with alive_at with what they had live then. An error: a condition is
 * about single blocks, or not known of the recording.
 */
struct err *filter_aggregate(const struct filter *filter, const struct recording *recording,
			     struct symbolized *symbolized, struct recording **ret);

#endif
