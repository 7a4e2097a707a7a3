/*
 * A recording as a script for bytehound's replayer, which repeats its allocations and frees. The
 * file is 64-bit numbers in the byte order of this machine. The first is the number of slots; a
 * slot keeps the address of a block. Then come steps of four numbers each:
 *
 *	1 slot time size       allocate          4 frame 0 0       call: one frame deeper
 *	2 slot time 0          free              5 0 0 0           return
 *	3 slot time size       reallocate        0 0 0 0           the end
 *
 * Times are microseconds since the start; sizes are the requested ones. A frame is a number, the
 * same for the same place in the program. If a filter leaves out one block of a realloc, the other
 * is allocated or freed. The format is bytehound 0.2's, from a description: the replayer itself has
 * not read such a file yet.
 */
#ifndef MALLOW_REPORT_EXPORT_REPLAY_EXPORT_H
#define MALLOW_REPORT_EXPORT_REPLAY_EXPORT_H

#include "analysis/filter/filter.h"
#include "hosted/buf.h"

struct replay_export;

/*
 * recording: must have blocks. match: only these blocks are written; NULL: all. Both must outlive
 * the export.
 */
struct err *replay_export_create(const struct recording *recording,
				 const struct filter_match *match, struct replay_export **ret);
/* Accepts NULL. */
void replay_export_destroy(struct replay_export *export);

/* Appends the next piece, so that no more than that is in memory. *done: it was the last. */
struct err *replay_export_more(struct replay_export *export, struct buf *buf, bool *done);

/* Writes all of it at once. */
struct err *replay_export_write(struct buf *buf, const struct recording *recording,
				const struct filter_match *match);

#endif
