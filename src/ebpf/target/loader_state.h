/*
 * The function that a C library's loader calls before and after it maps or unmaps libraries, for
 * debuggers: _dl_debug_state(), in glibc's ld.so and in musl. When it is called after mapping, no
 * code of the new libraries has run yet.
 */
#ifndef MALLOW_EBPF_TARGET_LOADER_STATE_H
#define MALLOW_EBPF_TARGET_LOADER_STATE_H

#include "ebpf/target/target.h"

struct loader_state {
	bool found; /* false: a static program */
	uint32_t module;
	uint64_t address;     /* in the process */
	uint64_t file_offset; /* in the module's file */
};

struct err *loader_state_find(const struct target *target, struct loader_state *ret);

#endif
