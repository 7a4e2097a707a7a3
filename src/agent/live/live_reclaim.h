/*
 * When groups of the table without blocks are taken back (reclaim.h): once there are so many more
 * than when all were looked at last, some regions are looked at each time that one more is made,
 * until it has been all round. So what there is goes by what is live, and no call does much.
 *
 * Who is in the table has thread->busy set, or is counted in `emptying`.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_RECLAIM_H
#define MALLOW_AGENT_LIVE_LIVE_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/reclaim.h"

struct live;
struct thread;

/* Zero: none is leaving, and the first look is due. */
struct live_reclaim {
	uint32_t lock; /* of all up to `due` */
	struct reclaim groups;
	const struct thread *inside; /* the first that has not been seen outside since they left */
	uint32_t freed;              /* cells, since the last time all round */
	uint32_t due;                /* atomic: by reclaim_size() */
	uint32_t emptying;           /* atomic: threads that empty the table */
};

/* Not in a signal handler that interrupted the agent; in no use of the table, with `busy` set. */
void live_reclaim_slow(struct thread *thread, struct live *live);

#endif
