/*
 * Decides when empty groups of the table are reclaimed (reclaim.h). The work comes in rounds. A
 * round begins when the table has grown by a certain share since the last one. In a round each
 * thread that makes a new group looks at some regions, until all were looked at. So the size of the
 * table follows what is live, and no call takes long.
 *
 * A thread that uses the table has thread->busy set, or is counted in `emptying`.
 */
#ifndef MALLOW_AGENT_LIVE_LIVE_RECLAIM_H
#define MALLOW_AGENT_LIVE_LIVE_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live_blocks/reclaim.h"

struct live;
struct thread;

/* Zero: no group is leaving, and the first look is due. */
struct live_reclaim {
	uint32_t lock; /* guards all fields up to `due` */
	struct reclaim groups;
	const struct thread *inside; /* the first thread not seen outside yet */
	uint32_t looks;              /* threads that were looked at for these groups */
	uint32_t freed;              /* cells freed in this round */
	uint32_t due;                /* atomic: the next step is due at this reclaim_size() */
	uint32_t emptying;           /* atomic: threads that empty the table */
};

/*
 * Does the next step. `busy` must be set; this thread must be in no other use of the table. Not in
 * a signal handler that interrupted the agent.
 */
void live_reclaim_slow(struct thread *thread, struct live *live);

#endif
