/*
 * The frames of the live table's stacks as the process has them: return addresses by the ids that
 * the recording gave them, and for each a number that is the same in every run.
 */
#ifndef MALLOW_AGENT_REPORT_REPORT_FRAMES_H
#define MALLOW_AGENT_REPORT_REPORT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/report/report_memory.h"

struct report_frame {
	uint64_t pc;  /* 0: not known */
	uint64_t key; /* 0: not asked for yet */
};

struct report_frames {
	struct report_frame *frames; /* by id */
	uint32_t count;
	/* The module of the last frame, which mostly is that of the next. */
	uint64_t start, end, bias, module_key;
};

/* As of now, in `memory`. false: no memory. */
bool report_frames_make(struct report_frames *frames, struct report_memory *memory);

/* frame: as in struct live_node. */
uint64_t report_frames_pc(const struct report_frames *frames, uint32_t frame);

/* Made of the file's build id, else of its name, and of the place in it. */
uint64_t report_frames_key(struct report_frames *frames, uint32_t frame);

/* The hash of a stack: from 0 on, a frame at a time, the innermost first. */
static inline uint64_t report_frames_hash(uint64_t hash, uint64_t key)
{
	hash = (hash ^ key) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

#endif
