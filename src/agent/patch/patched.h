/* A function of an allocator whose entry is patched, for the hook that each of its calls comes to.
 */
#ifndef MALLOW_AGENT_PATCH_PATCHED_H
#define MALLOW_AGENT_PATCH_PATCHED_H

#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "allocators/function_names.h"
#include "allocators/entry.h"

struct patched;

/*
 * A call, as arch/patched_entry.h puts it on the stack; what follows there, instead of the caller,
 * is that one's own.
 */
struct patched_call {
	const struct patched *patched;
	uint64_t arguments[6];      /* as many as the function has are its */
	struct unwind_state caller; /* of a call that is handed over: ARCH_PATCHED_CALLER() */
};

/* Does what a call is for, calls patched_behind() and returns what that returned. */
typedef uint64_t patched_hook(const struct patched_call *call);

/*
 * A cell near the function, in memory that can be read and executed, but not written. It never
 * changes while the function can be called.
 */
struct patched {
	patched_hook *hook; /* first: arch/patched_entry.h calls it */
	void *enter;        /* where the stub jumps to: there */
	uint8_t stub[ENTRY_STUB_SIZE];
	uint8_t moved[ENTRY_MOVED_SIZE]; /* patched_behind() jumps there */
	struct entry_step steps[ENTRY_STEPS];
	uint8_t jump;      /* where the jump stands in the function */
	uint8_t operation; /* enum trace_op */
	uint8_t pushes;    /* where in the stub rbp is pushed */
	const struct allocator_function *function;
	uint64_t entry;      /* the function's address; 0: see patched_handed_over() */
	uint64_t start, end; /* of its module's code */
};

/*
 * A call of a function that is not patched, but that the program hands over: its first two
 * arguments are a function and that one's argument. Calls it.
 */
static inline uint64_t patched_handed_over(const struct patched_call *call)
{
	uint64_t (*function)(void *argument) = (uint64_t(*)(void *))(uintptr_t)call->arguments[0];

	return function((void *)(uintptr_t)call->arguments[1]);
}

#endif
