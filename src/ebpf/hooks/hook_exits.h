/*
 * Finds the instructions by which a call of a function ends.
 *
 * The return of a function that may throw must not be probed in the kernel's way. The kernel puts
 * its own address in place of the return address; when the function throws, the unwinder finds that
 * address and ends the program. So probes stand at the function's own ret instructions, and, where
 * it ends by a jump to another function, at those of that one:
 *
 *	operator new:	…  ret		probe
 *			…  jmp slow
 *	slow:		…  ret		probe; here sp tells whether operator new jumped to it
 */
#ifndef MALLOW_EBPF_HOOKS_HOOK_EXITS_H
#define MALLOW_EBPF_HOOKS_HOOK_EXITS_H

#include "allocators/function_names.h"
#include "ebpf/hooks/image_code.h"
#include "ebpf/hooks/image_functions.h"

/* Zeroed: empty. */
struct hook_exits {
	VEC(uint64_t) addresses; /* of ret instructions; each once */
	VEC(struct fde_range)
	passed;              /* the functions, and parts of functions, that were looked at */
	const char *failure; /* why they are not known; NULL: they are */
};

/*
 * Finds them for the function of size bytes at an address; size 0: not known. A jump to a function
 * of the list that cannot throw is not followed: such a call counts there. On failure ret->failure
 * says why. An error: no memory.
 */
struct err *hook_exits_find(struct image_code *code, uint64_t address, uint64_t size,
			    const struct image_functions *functions,
			    const struct function_names *names, struct hook_exits *ret);
void hook_exits_deinit(struct hook_exits *exits);

#endif
