/*
 * What this room keeps for a process image: its file, and the modules defined there. It lies in
 * memory that the kernel wipes at fork, like struct process.
 */
#ifndef MALLOW_AGENT_RECORD_RECORDING_H
#define MALLOW_AGENT_RECORD_RECORDING_H

#include <stdint.h>

#include "agent/record/file.h"
#include "agent/record/modules.h"
#include "base/compiler.h"

/* Zero: no recording. */
struct recording {
	struct file file;
	struct modules modules;
	uint64_t last_sample_ns; /* atomic; memory_use.h */
	uint32_t untold;         /* atomic: the registry was full (helper/registry.h) */
};

/* Not NULL once `process` is not. */
extern struct recording *recording hidden;

#endif
