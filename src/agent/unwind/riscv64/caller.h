/*
 * The caller of one of our functions that is compiled with a frame pointer:
 *
 *   frame address - 16 the caller's s0
 *   frame address - 8  the return address
 *   frame address      the caller's stack pointer after the return
 */
#ifndef MALLOW_AGENT_UNWIND_RISCV64_CALLER_H
#define MALLOW_AGENT_UNWIND_RISCV64_CALLER_H

#include "agent/unwind/unwind.h"

/* What is kept while a hook runs, to know its caller again: sp is enough. */
struct arch_mark {
	uint64_t sp; /* 0: of no hook */
};

static inline struct arch_mark arch_mark(const struct unwind_state *caller)
{
	return (struct arch_mark){.sp = caller->sp};
}

static inline struct unwind_state arch_marked(struct arch_mark mark)
{
	const uint64_t *frame = (const uint64_t *)mark.sp - 2;

	return (struct unwind_state){.pc = frame[1], .sp = mark.sp, .fp = frame[0]};
}

/* Of the caller of the function in which this is used. */
#define ARCH_MARK() ((struct arch_mark){.sp = (uint64_t)__builtin_frame_address(0)})

/* The caller itself. */
#define ARCH_CALLER()                                                                              \
	((struct unwind_state){                                                                    \
		.pc = (uint64_t)__builtin_return_address(0),                                       \
		.sp = (uint64_t)__builtin_frame_address(0),                                        \
		.fp = ((const uint64_t *)__builtin_frame_address(0))[-2],                          \
	})

/* Keeps it where signal handlers look. */
static inline void arch_keep(struct arch_mark *place, struct arch_mark mark)
{
	*place = mark;
}

/* For a hook of patched functions: who called such a function. kept: as whoever made the call kept
 * it. */
#define ARCH_PATCHED_CALLER(kept) (*(kept))
#define ARCH_PATCHED_MARK(kept)   arch_mark(kept)

#endif
