/*
 * A filtered copy of a recording: only the blocks that match, with sites and sums computed from
 * them. Every view can show it. The peak is when these blocks together had most live, which may be
 * at another moment than that of all blocks.
 */
#ifndef MALLOW_ANALYSIS_FILTER_FILTERED_H
#define MALLOW_ANALYSIS_FILTER_FILTERED_H

#include "analysis/filter/filter.h"

/*
 * Makes the copy, which the caller closes by recording_close(), before the original. Facts, sites
 * and summary are its own; all else it shares with the original: also frames and stacks, so names
 * of one are right for the other. Sites are in the order of their first matching blocks. The copy
 * has no blocks, pools or heap errors. The only error: no memory.
 *
 * Blocks that CULL only counted are in none of its sums, and temporary is not known then: 0. In a
 * sample sums stay estimates. What is exact in the original is exact in the copy: if all blocks
 * match, the sums are the same.
 */
struct err *filtered_create(const struct recording *recording, const struct filter_match *match,
			    struct recording **ret);

/*
 * The block of the original whose allocation reached the copy's peak. UINT64_MAX: nothing matches,
 * or all that matches has 0 bytes.
 */
uint64_t filtered_peak_block(const struct recording *filtered);

#endif
