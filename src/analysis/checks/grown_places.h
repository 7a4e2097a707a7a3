/*
 * The places in own code whose sum grew most from one recording to another. Places are the same if
 * module, function and file have the same names; addresses and lines may differ, as those of two
 * builds do; so may the calls that a place makes.
 */
#ifndef MALLOW_ANALYSIS_CHECKS_GROWN_PLACES_H
#define MALLOW_ANALYSIS_CHECKS_GROWN_PLACES_H

#include "analysis/checks/verdicts.h"

/*
 * Fills ret->places, the place that grew most first; those that did not grow are left out.
 * ret->check says which sum.
 */
struct err *grown_places_find(const struct check_baseline *before,
			      const struct recording *recording, struct symbolized *symbolized,
			      struct verdict *ret);

#endif
