/*
 * How the sites of a recording changed since it was opened before: for recordings that are still
 * being written.
 */
#ifndef MALLOW_ANALYSIS_SITES_SITE_CHANGE_H
#define MALLOW_ANALYSIS_SITES_SITE_CHANGE_H

#include "analysis/recording.h"

/*
 * *ret: for each of recording_sites(now), its sums minus those in since, owned by the caller
 * (free()). A sum that has become less is negative, in two's complement. Sites are the same if
 * their stacks are, frame by frame. since: an earlier state of the same recording; both may be
 * filtered in the same way.
 */
struct err *site_change_find(const struct recording *now, const struct recording *since,
			     struct site **ret);

#endif
