/*
 * The sums of a recording as a profile for pprof: the message perftools.profiles.Profile of
 * https://github.com/google/pprof/blob/main/proto/profile.proto, compressed by gzip, as pprof and
 * other readers want it. One sample for each site, with seven values:
 *
 *	alloc_objects, alloc_space    allocated in all
 *	inuse_objects, inuse_space    live at the end, or now; the way that is shown first
 *	peak_objects, peak_space      live at the moment of the global peak
 *	temporary                     freed with no other allocation by the same thread in between
 *
 * Samples have no label `bytes`, because a site's blocks have many sizes.
 */
#ifndef MALLOW_REPORT_EXPORT_PPROF_H
#define MALLOW_REPORT_EXPORT_PPROF_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

/*
 * Writes the profile. symbolized: the names of the recording, or of the one that it was filtered
 * from. since: an earlier state of the recording, or the other side of a diff, whose sums are
 * subtracted: what remains is the change, which may be negative. NULL: nothing is subtracted.
 */
struct err *pprof_write(struct buf *buf, const struct recording *recording,
			struct symbolized *symbolized, const struct recording *since);

#endif
