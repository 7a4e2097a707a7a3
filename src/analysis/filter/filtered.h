/*
 * Some of the blocks of a recording as a recording of its own, so that every view can show them:
 * its sites and sums are of these blocks alone. The peak is when they together had most live, which
 * may be at another moment than that of all.
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTERED_H
#define MALLOW_ANALYSIS_FILTER_FILTERED_H

#include "analysis/filter/filter.h"

/*
 * To be closed by recording_close(), before the other one, from which it has all but facts, sites
 * and summary: also the numbers of frames and stacks, so that names of the one serve the other,
 * too. Its sites stand in the order of their first matching blocks. It has no blocks, pools or heap
 * errors. Blocks that CULL only counted are in none of its sums, and temporary ones are not known
 * then: 0. Of a sample sums are estimates as before. What is exact else stays exact: with all
 * blocks the sums are those of the recording.
 */
struct err *filtered_create(const struct recording *recording, const struct filter_match *match,
			    struct recording **ret);

#endif
