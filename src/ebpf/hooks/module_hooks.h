/* Finds the hooks of one module. */
#ifndef MALLOW_EBPF_HOOKS_MODULE_HOOKS_H
#define MALLOW_EBPF_HOOKS_MODULE_HOOKS_H

#include "ebpf/hooks/hook_find.h"
#include "ebpf/hooks/hook_names.h"

/* Adds the hooks of the target's module of that number. An error: no memory, or no descriptor. */
struct err *module_hooks_add(const struct target *target, uint32_t module,
			     const struct hook_names *names, struct hooks *hooks);

#endif
