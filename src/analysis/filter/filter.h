/*
 * Which allocations somebody wants to see: conditions by name and text, all of which must hold, and
 * the blocks of a recording that they match. The names and what they mean are in filter.def, and
 * exactly in docs/filter.md.
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

struct filter;

/* Of filter.def: how a condition is called and what it takes. */
struct filter_parameter {
	const char *name;    /* "size_min" */
	const char *value;   /* what help calls its value: "SIZE" */
	const char *text;    /* what it does */
	const char *choices; /* the words allowed, by spaces; NULL: not a choice */
};

const struct filter_parameter *filter_parameters(size_t *count);

/* Without a condition it matches all. */
struct err *filter_create(struct filter **ret);
/* Accepts NULL. */
void filter_destroy(struct filter *filter);

/*
 * A condition as typed, in place of an earlier one of the same name; both texts are copied. In name
 * '-' stands for '_', and such in front for nothing. The error says name and value as typed, and
 * what is allowed.
 */
struct err *filter_set(struct filter *filter, const char *name, const char *value);

bool filter_is_empty(const struct filter *filter);

/* The value of a condition as typed, by its index in filter_parameters(); NULL: not set. */
const char *filter_value(const struct filter *filter, size_t parameter);

/* Bit i % 64 of words[i / 64]: block i matches. Zeroed: empty. */
struct filter_match {
	uint64_t count;  /* blocks that match */
	uint64_t blocks; /* of the recording */
	uint64_t *words; /* owned; bits from blocks on are 0 */
};

void filter_match_deinit(struct filter_match *match);

/*
 * The blocks of a recording that match; it was opened with RECORDING_BLOCKS. What is asked of the
 * group of a block is of all allocations with its stack, as struct site has it: also those that
 * CULL only counted, and in a sample as estimated. symbolized: of this recording, and of this
 * thread; frames are named only where a condition asks for names. Fails where a moment is a mark
 * that the recording does not have, or a regular expression is too costly.
 */
struct err *filter_match(const struct filter *filter, const struct recording *recording,
			 struct symbolized *symbolized, struct filter_match *ret);

#endif
