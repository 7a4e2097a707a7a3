/*
 * A recording as a script for bytehound's replayer, which does the same allocations and frees
 * again: 64-bit numbers, in the byte order of this machine. First how many slots there are, a slot
 * being a place for the address of a block; then steps of four numbers each.
 *
 *	1 slot time size       allocate          4 frame 0 0       call: one frame deeper
 *	2 slot time 0          free              5 0 0 0           return
 *	3 slot time size       reallocate        0 0 0 0           the end
 *
 * Times are microseconds since the start, sizes those requested. A frame is a number, the same for
 * the same place in the program. A realloc of which the filter leaves one block out is an
 * allocation or a free of the other. The format is that of bytehound 0.2, from a description of it:
 * the replayer itself has not read such a file yet.
 */
#ifndef MALLOW_REPORT_EXPORT_REPLAY_EXPORT_H
#define MALLOW_REPORT_EXPORT_REPLAY_EXPORT_H

#include "analysis/filter/filter.h"
#include "hosted/buf.h"

struct replay_export;

/* The recording has blocks. It and match must outlive it: only blocks in match. NULL: all. */
struct err *replay_export_create(const struct recording *recording,
				 const struct filter_match *match, struct replay_export **ret);
/* Accepts NULL. */
void replay_export_destroy(struct replay_export *export);

/* Appends the next piece, so that no more is ever in memory. *done: it was the last. */
struct err *replay_export_more(struct replay_export *export, struct buf *buf, bool *done);

/* All of it. */
struct err *replay_export_write(struct buf *buf, const struct recording *recording,
				const struct filter_match *match);

#endif
