/*
 * Groups of sites: by function, frame, file, line, module and place. A part of block_groups.h.
 *
 * By function, file and line, only the reader's own code has groups, and a stack is its innermost
 * own frame's (names/own_code.h). By frame and module, all frames have groups, and a stack is that
 * of its innermost frame that is no part of an allocator (names/allocating.h). By place, stacks are
 * together that read the same in a line: by their own frame's function, module, file and line, and
 * by the function and module of the call made there.
 */
#ifndef MALLOW_ANALYSIS_GROUPS_SITE_GROUPS_H
#define MALLOW_ANALYSIS_GROUPS_SITE_GROUPS_H

#include "analysis/groups/block_groups.h"
#include "hosted/buf.h"

/*
 * Fills zeroed groups, whose `by` is set; not by place if `inclusive`. The rest is as for
 * block_groups_create() and block_groups_create_inclusive(). The only error: no memory.
 */
struct err *site_groups_create(const struct recording *recording, struct symbolized *symbolized,
			       bool inclusive, block_groups_member *member, void *argument,
			       struct block_groups *groups);

/* Writes what the group of a frame is called. frame NULL: there is no stack. */
void site_groups_put_name(struct buf *buf, enum block_groups_by by,
			  const struct named_frame *frame);

#endif
