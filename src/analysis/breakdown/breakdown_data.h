/* The inside of struct breakdown: for the files that make one. */
#ifndef MALLOW_ANALYSIS_BREAKDOWN_BREAKDOWN_DATA_H
#define MALLOW_ANALYSIS_BREAKDOWN_BREAKDOWN_DATA_H

#include "analysis/breakdown/breakdown.h"
#include "hosted/intern.h"
#include "hosted/vec.h"

struct breakdown_impl {
	struct breakdown breakdown;
	VEC(struct breakdown_row) rows; /* until it is complete */
	struct intern names;
	breakdown_member *member; /* NULL: nobody is told */
	void *argument;           /* for it */
};

/* Adds one sum to another, without the own peak, which cannot be added. */
void breakdown_add(struct site *sum, const struct site *more);

struct err *breakdown_from_stacks(struct breakdown_impl *impl, const struct recording *recording,
				  struct symbolized *symbolized);
struct err *breakdown_from_blocks(struct breakdown_impl *impl, const struct recording *recording,
				  const struct seen_blocks *blocks);

#endif
