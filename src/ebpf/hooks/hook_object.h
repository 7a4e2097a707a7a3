/* The user's choice of a library or program (-O). */
#ifndef MALLOW_EBPF_HOOKS_HOOK_OBJECT_H
#define MALLOW_EBPF_HOOKS_HOOK_OBJECT_H

#include "ebpf/target/target.h"

/*
 * Whether the user means this module. object: a path, absolute or relative, as we or as the process
 * see it; a file name; or the short name of a library: "c" is libc.so.6, "jemalloc" is
 * libjemalloc.so.2.
 */
bool hook_object_is(const struct target *target, const struct target_module *module,
		    const char *object);

/* The same for a name without a slash and a file name, which the path ends with. */
bool hook_object_is_named(const char *path, const char *object);

#endif
