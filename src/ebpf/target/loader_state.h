/*
 * What a C library's loader tells debuggers: the function that it calls before and after it maps or
 * unmaps libraries, _dl_debug_state(), in glibc's ld.so and in musl; and its list of libraries,
 * _r_debug, in glibc's. When the function is called after mapping, no code of the new libraries has
 * run yet.
 */
#ifndef MALLOW_EBPF_TARGET_LOADER_STATE_H
#define MALLOW_EBPF_TARGET_LOADER_STATE_H

#include "ebpf/target/target.h"

struct loader_state {
	bool found; /* false: a static program */
	uint32_t module;
	uint64_t address;     /* in the process */
	uint64_t file_offset; /* in the module's file */
	uint64_t bias;        /* of the module */
	uint64_t list;        /* _r_debug in the process; 0: musl, which unmaps no library */
};

struct err *loader_state_find(const struct target *target, struct loader_state *ret);

/* Modules that are never unmapped, by their bias. Zeroed: none. */
struct lasting_modules {
	VEC(uint64_t) biases;
	bool all; /* of those that are mapped */
};

/*
 * Finds what was loaded with the program: in the loader's list up to the loader itself, behind
 * which are libraries that were opened later. All that is mapped, if the program is static, or of
 * musl. What cannot be read is left out.
 */
struct err *lasting_modules_find(const struct target *target, struct lasting_modules *ret);
void lasting_modules_deinit(struct lasting_modules *lasting);

bool lasting_modules_have(const struct lasting_modules *lasting, const struct target_span *span);

#endif
