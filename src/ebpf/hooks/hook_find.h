/*
 * Finds the functions of a process's allocators, wherever they are: in the C library, in a library
 * that replaces it, or linked into the program. allocators/functions.def lists their names.
 */
#ifndef MALLOW_EBPF_HOOKS_HOOK_FIND_H
#define MALLOW_EBPF_HOOKS_HOOK_FIND_H

#include "allocators/function_names.h"
#include "ebpf/bpf/hook.h"
#include "ebpf/target/target.h"
#include "hosted/arena.h"

/* A function that is probed. */
struct hook {
	uint32_t module;      /* of the target */
	uint32_t cookie;      /* hook.h */
	uint64_t file_offset; /* in the module's file: where the probe stands */
	const char
		*name; /* of the function, as its symbol table has it; lives as long as the hooks */
};

/* An allocator that was found. */
struct hooked_module {
	uint32_t module;       /* of the target */
	uint32_t probes;       /* how many hooks it has */
	const char *allocator; /* "jemalloc", "glibc", "its own malloc"; static */
};

/* A function that should be probed, and cannot be: its blocks are not seen. */
struct unprobed_function {
	uint32_t module;
	const char *name; /* lives as long as the hooks */
	const char *why;  /* "it has too many exits"; static */
};

/* Code of a module, by addresses of its file. */
struct mapper_code {
	uint64_t start, end;
	uint32_t module; /* of the target */
};

struct hook_options {
	const char *object; /* -O, see hook_object_is(); NULL: all that are found */
	const char *prefix; /* --symbols-prefix, "foo_": besides the known ones; NULL: none */
};

/* Zeroed: none. */
struct hooks {
	VEC(struct hook) list; /* by module */
	VEC(struct hooked_module) modules;
	VEC(struct unprobed_function) unprobed;
	/* Functions by which an allocator that is linked into the program maps memory for itself:
	 * jemalloc, whose constructor does so outside of every call of malloc. */
	VEC(struct mapper_code) mappers;
	struct arena arena; /* the names */
};

/* The cookie of the probe at the function's entry. */
uint32_t hook_cookie_of(const struct allocator_function *function);

/*
 * Adds the hooks of the target's modules from index `first` on; those of modules before it are
 * there already. No error if none is found: then the list is as it was. An error: no memory; or,
 * with `first` 0, options->object is not mapped: the message says which modules have an allocator;
 * or the process runs under mallow's agent, which has patched one of the functions.
 * On failure some hooks may have been added.
 */
struct err *hooks_find(const struct target *target, uint32_t first,
		       const struct hook_options *options, struct hooks *hooks);
void hooks_deinit(struct hooks *hooks);

/*
 * Whether the user means this module by -O. object: a path, absolute or relative, as we or as the
 * process see it; a file name; or the short name of a library: "c" is libc.so.6, "jemalloc" is
 * libjemalloc.so.2.
 */
bool hook_object_is(const struct target *target, const struct target_module *module,
		    const char *object);

/* The same for a name without a slash and a file name, which the path ends with. */
bool hook_object_is_named(const char *path, const char *object);

#endif
