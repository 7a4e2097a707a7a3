/*
 * Names for the addresses in stacks: function, module, place in the source. Code that was unmapped
 * since keeps its names, as long as nothing else was mapped there.
 */
#ifndef MALLOW_EBPF_CODE_NAMES_H
#define MALLOW_EBPF_CODE_NAMES_H

#include "ebpf/target/target.h"

struct code_names;

/* A name of a frame. With inlined functions a frame has several. */
struct code_name {
	const char *function; /* readable; NULL: unknown */
	uint64_t offset;      /* of the address from the function's start */
	const char *module;   /* the file's name without folders; NULL: in no file */
	const char *file;     /* in the source; NULL: unknown */
	uint32_t line;        /* 0: unknown */
	bool inlined;         /* into the next name's function */
};

struct err *code_names_create(struct code_names **ret);
void code_names_destroy(struct code_names *names);

/* Takes over what the target has mapped now. To be called before the following. */
struct err *code_names_look(struct code_names *names, const struct target *target);

/*
 * Reads the names of code that was made at run time, for those of these frames that are in no file:
 * once for all of them, since the program's file of names may be large. Without this they have
 * none, and the names of the last call end.
 */
struct err *code_names_read_made(struct code_names *names, const struct target *target,
				 const uint64_t *frames, size_t count);

/*
 * The names of a frame (FRAME_INTERRUPTED), innermost first: *count >= 1, the function itself last.
 * They live until the next call. Their strings live until code_names_destroy(), those of code that
 * was made at run time until the next code_names_read_made().
 */
struct err *code_names_find(struct code_names *names, const struct target *target, uint64_t frame,
			    const struct code_name **ret, size_t *count);

#endif
