/*
 * Which functions of a file are to be watched, of those whose names function_names.h knows: not
 * those that have their names by chance, and not those that belong to another file's allocator.
 */
#ifndef MALLOW_ALLOCATORS_FUNCTION_CHOICE_H
#define MALLOW_ALLOCATORS_FUNCTION_CHOICE_H

#include "allocators/function_names.h"

/* What the symbols of a file say about its allocator. Zeroed: nothing yet. */
struct file_signs {
	const char *allocator; /* "jemalloc"; static; NULL: of no known one */
	uint32_t allocator_rank;
	bool is_loader;                   /* glibc's ld.so: its malloc is for itself */
	bool is_c_library;                /* or a static program, which has one in it */
	bool rust_replaced, rust_default; /* __rg_alloc and __rdl_alloc are there */
	uint32_t inside;                  /* groups whose inner functions are there */
};

/* A function of a file. */
struct file_function {
	uint64_t address, size; /* size 0: not known */
	const char *name;       /* the caller's */
	struct function_match match;
	uint32_t groups; /* of all its names, set by function_choice_make() */
	bool exported;
	bool mixed; /* it has names of functions that do different things: free() and delete */
};

/* Notes what a symbol says: each function of the file, whether its name is in the list or not. */
void function_choice_note(struct file_signs *signs, const char *symbol, bool exported);

/*
 * Removes the functions that are not to be watched. Afterwards each address is there once, under
 * its best known name, and the list is sorted by address. Returns how many are left.
 */
size_t function_choice_make(const struct file_signs *signs, struct file_function *list,
			    size_t count);

/*
 * Whether the functions of a group are surely an allocator's: it has some that no other code has
 * (an inner one, or one of jemalloc's mallctl and the like), or FUNCTION_CHOICE_SURE of the list's.
 * tc_new() and tc_free() may be anybody's.
 */
#define FUNCTION_CHOICE_SURE 4
bool function_choice_is_sure(const struct file_signs *signs, const struct file_function *list,
			     size_t count, uint32_t group);

/* What the allocator is called: by its signs, else by its functions, else "its own malloc". */
const char *function_choice_allocator(const struct file_signs *signs,
				      const struct file_function *list, size_t count);

#endif
