/*
 * The functions of an allocator that an image has, and whose allocator it is, by the image's symbol
 * tables.
 */
#ifndef MALLOW_EBPF_HOOKS_IMAGE_FUNCTIONS_H
#define MALLOW_EBPF_HOOKS_IMAGE_FUNCTIONS_H

#include "ebpf/hooks/hook_find.h"
#include "ebpf/hooks/hook_names.h"
#include "hosted/arena.h"
#include "hosted/vec.h"
#include "symbols/elf_image.h"

struct image_function {
	uint64_t address, size; /* size 0: not known */
	const char *name;       /* in the arena */
	struct hook_match match;
	bool exported;
};

/* Zeroed, but for arena: empty. */
struct image_functions {
	struct arena *arena; /* for names */
	VEC(struct image_function) list;
	VEC(struct mapper_code) mappers; /* jemalloc's, if that is the allocator: hook_find.h */
	const char *allocator;           /* "jemalloc"; NULL: of no known one */
	uint32_t allocator_rank;
	bool is_loader;                   /* glibc's ld.so: its malloc is for itself */
	bool is_c_library;                /* or a static program, which has one in it */
	bool rust_replaced, rust_default; /* __rg_alloc and __rdl_alloc are there */
};

/* Adds the functions of a symbol table: SHT_DYNSYM or SHT_SYMTAB. An error: no memory. */
struct err *image_functions_add(struct image_functions *functions, const struct elf_image *image,
				uint32_t table, const struct hook_names *names);

/*
 * Removes the functions that are not to be probed: those that have their name by chance, and those
 * that belong to another image's allocator, as libstdc++'s operator new does. Afterwards each
 * address is there once, under its best known name, and the list is sorted by address.
 */
void image_functions_choose(struct image_functions *functions);

void image_functions_deinit(struct image_functions *functions);

#endif
