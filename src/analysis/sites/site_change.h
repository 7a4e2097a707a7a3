/*
 * What the sites of a recording came to since it was opened before: for one that is still being
 * written.
 */
#ifndef MALLOW_ANALYSIS_SITES_SITE_CHANGE_H
#define MALLOW_ANALYSIS_SITES_SITE_CHANGE_H

#include "analysis/recording.h"

/*
 * For each of recording_sites(now) the same with the sums of since taken off; what is less than it
 * was is negative, as two's complement. Sites are the same if their stacks are, frame by frame.
 * since: an earlier state of the recording that now is of, or both filtered alike. *ret: the
 * caller's to free().
 */
struct err *site_change_find(const struct recording *now, const struct recording *since,
			     struct site **ret);

#endif
