/*
 * What this room keeps for a process image: its file, and the modules defined there. It lies in
 * memory that the kernel wipes at fork, like struct process. Creates a recording: its id, its file
 * and its header.
 */
#ifndef MALLOW_AGENT_RECORD_RECORDING_H
#define MALLOW_AGENT_RECORD_RECORDING_H

#include <stdbool.h>
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

/* Makes a random id, which no other recording has. */
void recording_file_make_id(uint8_t id[16]);

/*
 * Creates the file and maps its header. later: this is not the first image of the run. false: it
 * could not, and a line was printed.
 */
bool recording_file_create(struct file *file, bool later);

/*
 * After the file was created. recording_file_open() fills the header. forked: the recording is a
 * forked child's. parent: the id of the recording that this one descends from; zero: none.
 * recording_file_say() writes a line to the log.
 */
void recording_file_open(bool forked, const uint8_t parent[16]);
void recording_file_say(void);

#endif
