/*
 * The sums of a recording as a profile for pprof: the message perftools.profiles.Profile of
 * https://github.com/google/pprof/blob/main/proto/profile.proto, compressed by gzip, as pprof and
 * other readers want it. It keeps the rules of stores, which refuse what others read. Parca wants
 * ids that are equal to positions, and takes a profile with a duration for a change. Pyroscope
 * takes 16,000 samples at most. There is one sample for each site, with seven values:
 *
 *	alloc_objects, alloc_space    allocated in all
 *	inuse_objects, inuse_space    live at the end, or now; the way that is shown first
 *	peak_objects, peak_space      live at the moment of the global peak
 *	temporary                     freed with no other allocation by the same thread in between
 *
 * Of a live table there are the first four, which Go's profiles have: it does not know the others.
 *
 * Samples have no label `bytes`, because a site's blocks have many sizes. Of too many sites those
 * with least in use are one sample, "(others)", so that sums are whole.
 */
#ifndef MALLOW_REPORT_EXPORT_PPROF_H
#define MALLOW_REPORT_EXPORT_PPROF_H

#include "analysis/names/symbolized.h"
#include "hosted/buf.h"

#define PPROF_SAMPLES 10000u /* unless the user says otherwise */

struct pprof_options {
	/*
	 * An earlier state of the recording, or the other side of a diff, whose sums are
	 * subtracted: what remains is the change, which may be negative. The profile of a change
	 * since an earlier state begins when that ended, and has a duration; others are of the
	 * recording's last moment, and have none. NULL: nothing is subtracted.
	 */
	const struct recording *since;
	/* The sums that are written, one for each site of the recording; NULL: its own. */
	const struct site *sites;
	/* With sites: what stacks of processes have that are no more, and not in the recording. */
	const struct site *ended;
	uint64_t duration_ns; /* with sites: that of what they are a change since; 0: none */
	uint64_t samples;     /* the most that are written, at least 1 */
	/* In memory: gets a sentence for the user about what was folded; NULL: nobody asks. */
	struct buf *note;
	bool plain; /* not compressed */
};

/*
 * Writes the profile. symbolized: the names of the recording, or of the one that it was filtered
 * from.
 */
struct err *pprof_write(struct buf *buf, const struct recording *recording,
			struct symbolized *symbolized, const struct pprof_options *options);

#endif
