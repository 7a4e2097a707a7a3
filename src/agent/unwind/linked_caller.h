/*
 * The caller of one of our functions, where calls leave the return address in a register: for
 * unwind/<cpu>/caller.h. The caller's sp is not beside the record of its fp and the return address
 * (AArch64: at the frame's bottom; RISC-V: below the arguments of a variadic function). The
 * compiler knows it.
 */
#ifndef MALLOW_AGENT_UNWIND_LINKED_CALLER_H
#define MALLOW_AGENT_UNWIND_LINKED_CALLER_H

#include "agent/unwind/unwind.h"
#include "base/compiler.h"

/* The fp that the caller of the function in which this is used has. */
#ifndef ARCH_CALLERS_FP
#define ARCH_CALLERS_FP()                                                                          \
	(*(const uint64_t *)((uint64_t)__builtin_frame_address(0) + ARCH_FRAME_RECORD))
#endif

#ifndef ARCH_RETURN_ADDRESS
#define ARCH_RETURN_ADDRESS() (uintptr_t) __builtin_return_address(0)
#endif

/* The caller of the function in which this is used. */
#define ARCH_CALLER()                                                                              \
	((struct unwind_state){                                                                    \
		.pc = ARCH_RETURN_ADDRESS(),                                                       \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                            \
		.fp = ARCH_CALLERS_FP(),                                                           \
	})

/* What is kept while a hook runs, to know its caller again. */
struct arch_mark {
	uint64_t sp; /* 0: of no hook */
	uint64_t pc, fp;
};

static inline struct arch_mark arch_mark(const struct unwind_state *caller)
{
	return (struct arch_mark){.sp = caller->sp, .pc = caller->pc, .fp = caller->fp};
}

static inline struct unwind_state arch_marked(struct arch_mark mark)
{
	return (struct unwind_state){.pc = mark.pc, .sp = mark.sp, .fp = mark.fp};
}

/* That of the caller of the function in which this is used. */
#define ARCH_MARK() arch_mark(&ARCH_CALLER())

/* Keeps it where signal handlers look: sp last, by which they know that there is one. */
static inline void arch_keep(struct arch_mark *place, struct arch_mark mark)
{
	place->pc = mark.pc;
	place->fp = mark.fp;
	compiler_barrier();
	place->sp = mark.sp;
}

/* For a hook of patched functions: who called such a function. kept: as whoever made the call kept
 * it. */
#define ARCH_PATCHED_CALLER(kept) (*(kept))
#define ARCH_PATCHED_MARK(kept)   arch_mark(kept)

#endif
