/*
 * The sums of a recording as a profile of pprof: the message perftools.profiles.Profile of
 * https://github.com/google/pprof/blob/main/proto/profile.proto, compressed by gzip, as pprof and
 * all that understand its files want it. One sample for each site, in seven ways of counting:
 *
 *	alloc_objects, alloc_space    allocated in all
 *	inuse_objects, inuse_space    live at the end, or now; the way that is shown first
 *	peak_objects, peak_space      live at the moment of the global peak
 *	temporary                     freed with no other allocation by the same thread in between
 *
 * Samples have no label `bytes`: a site's blocks are of many sizes.
 */
#ifndef MALLOW_REPORT_EXPORT_PPROF_H
#define MALLOW_REPORT_EXPORT_PPROF_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

/*
 * symbolized: of the recording, or of the one that it was filtered from. since: an earlier state of
 * the recording, whose sums are taken off, so that what changed remains; it may be negative. NULL:
 * all of it.
 */
struct err *pprof_write(struct buf *buf, const struct recording *recording,
			struct symbolized *symbolized, const struct recording *since);

#endif
