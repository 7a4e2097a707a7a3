/*
 * Search tables for modules that have .eh_frame but no .eh_frame_hdr (ld --no-eh-frame-hdr): made
 * once for each module, in memory that is never returned. No program header says where .eh_frame
 * is, so the section headers of the module's file are read.
 */
#ifndef MALLOW_AGENT_UNWIND_MODULE_INDEX_H
#define MALLOW_AGENT_UNWIND_MODULE_INDEX_H

#include "agent/unwind/module_cache.h"
#include "cfi/eh_frame.h"

struct module_index {
	uint64_t start;        /* of the module */
	struct eh_image image; /* .eh_frame; size 0: the module has none that can be used */
	struct eh_frame_table table;
};

/* The index of the module that starts there. NULL: none was made. Lock-free. */
const struct module_index *module_index_find(uint64_t start);

/*
 * Makes the index of a module: some milliseconds for the largest. Only by unwind_run_slow(). Makes
 * none if system calls are forbidden, or if there were too many modules of the kind.
 */
void module_index_make(const struct module_place *place);

/* Forgets the indexes of modules that start in [start, end). */
void module_index_forget(uint64_t start, uint64_t end);

#endif
