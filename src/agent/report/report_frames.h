/*
 * The frames of the live table's stacks in this process: for each id that the recording gave to a
 * frame, its return address and a number that is the same in every run; and the names of addresses.
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

/* Collects the frames as of now, in `memory`. false: no memory. */
bool report_frames_make(struct report_frames *frames, struct report_memory *memory);

/* frame: as in struct live_node. */
uint64_t report_frames_pc(const struct report_frames *frames, uint32_t frame);

/*
 * A number for the frame that is the same in every run: from the file's build id, else its name,
 * and the address within the file.
 */
uint64_t report_frames_key(struct report_frames *frames, uint32_t frame);

/* Hashes a stack: begins with 0 and adds a frame at a time, innermost first. */
static inline uint64_t report_frames_hash(uint64_t hash, uint64_t key)
{
	hash = (hash ^ key) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/*
 * Names for addresses of this process, for reports that it prints itself. They come from the symbol
 * tables of the modules' files. The loader is not asked, and malloc not called. A file that is not
 * the one that was loaded (by its build id) has no names.
 *
 * For one thread; not for signal handlers.
 */
struct report_module;

/* Zero: empty. */
struct report_names {
	struct report_memory memory;
	struct report_module *modules;
};

struct report_name {
	const char *module;   /* path; "" if there is no module */
	uint64_t address;     /* link-time address in the module's file */
	const char *function; /* as in the symbol table (mangled); NULL: not known */
	uint64_t offset;      /* in the function */
};

/* The name of the code that makes the call before pc. Its strings last until the release. */
struct report_name report_names_find(struct report_names *names, uint64_t pc);

void report_names_release(struct report_names *names);

#endif
