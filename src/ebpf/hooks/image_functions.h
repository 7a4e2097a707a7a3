/*
 * The functions of an allocator that an image has, and whose allocator it is, by the image's symbol
 * tables.
 */
#ifndef MALLOW_EBPF_HOOKS_IMAGE_FUNCTIONS_H
#define MALLOW_EBPF_HOOKS_IMAGE_FUNCTIONS_H

#include "allocators/function_choice.h"
#include "ebpf/hooks/hook_find.h"
#include "hosted/arena.h"
#include "hosted/vec.h"
#include "symbols/elf_image.h"

/* Zeroed, but for arena: empty. */
struct image_functions {
	struct arena *arena;             /* for names */
	VEC(struct file_function) list;  /* names in the arena */
	VEC(struct mapper_code) mappers; /* jemalloc's, if that is the allocator: hook_find.h */
	struct file_signs signs;
};

/* Adds the functions of a symbol table: SHT_DYNSYM or SHT_SYMTAB. An error: no memory. */
struct err *image_functions_add(struct image_functions *functions, const struct elf_image *image,
				uint32_t table, const struct function_names *names);

/* Removes the functions that are not to be probed: function_choice_make(). */
void image_functions_choose(struct image_functions *functions);

void image_functions_deinit(struct image_functions *functions);

#endif
