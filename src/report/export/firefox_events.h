/*
 * The events of a profile for the Firefox Profiler: the largest blocks one by one, the others in
 * groups, as firefox.h says.
 */
#ifndef MALLOW_REPORT_EXPORT_FIREFOX_EVENTS_H
#define MALLOW_REPORT_EXPORT_FIREFOX_EVENTS_H

#include "hosted/map.h"
#include "hosted/vec.h"
#include "report/export/export_format.h"

#define FIREFOX_STEPS 128 /* at most: less if there would be too many groups */

/* Blocks of one stack that began in one step, and ended in one. */
struct firefox_group {
	uint64_t bytes;
	uint32_t stack;     /* a number of the caller's */
	uint8_t begin, end; /* steps; FIREFOX_STEPS: never freed */
};

struct firefox_event {
	uint64_t time_ns;
	uint32_t of; /* a block, or a group */
	bool grouped;
	bool freed;
};

/* Zeroed: empty. */
struct firefox_events {
	VEC(struct firefox_event) list; /* by time */
	VEC(struct firefox_group) groups;
	uint64_t folded;     /* how many blocks are in groups */
	unsigned int shift;  /* a step is 1 << shift of FIREFOX_STEPS */
	uint64_t *single;    /* a bit for each block: it has events of its own; NULL: all have */
	struct map group_of; /* by stack and steps */
};

/*
 * most: how many blocks have events of their own, and about how many groups there are. stacks: for
 * each site a number of its stack; blocks with equal ones may share a group. The only error: no
 * memory.
 */
struct err *firefox_events_create(const struct export_subject *subject, const uint32_t *stacks,
				  uint64_t most, struct firefox_events *ret);
/* Accepts a zeroed struct. */
void firefox_events_deinit(struct firefox_events *events);

/* A block's bytes; in a sample of all blocks that it stands for. */
uint64_t firefox_events_bytes(const struct recording *recording, uint64_t block);

#endif
