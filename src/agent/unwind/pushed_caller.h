/*
 * The caller of one of our functions, where calls push the return address: for
 * unwind/<cpu>/caller.h. With a frame pointer:
 *
 *   frame address               the caller's fp
 *   frame address + a word      the return address
 *   frame address + two words   the caller's stack pointer after the return
 */
#ifndef MALLOW_AGENT_UNWIND_PUSHED_CALLER_H
#define MALLOW_AGENT_UNWIND_PUSHED_CALLER_H

#include "agent/unwind/unwind.h"
#include "cfi/abi.h"

/* The caller of the function in which this is used. */
#define ARCH_CALLER()                                                                              \
	((struct unwind_state){                                                                    \
		.pc = (uintptr_t)__builtin_return_address(0),                                      \
		.sp = (uintptr_t)__builtin_frame_address(0) + 2 * ARCH_WORD,                       \
		.fp = *(const uintptr_t *)__builtin_frame_address(0),                              \
	})

/* What is kept while a hook runs, to know its caller again: sp is enough. */
struct arch_mark {
	uint64_t sp; /* 0: of no hook */
};

/* That of the caller of the function in which this is used. */
#define ARCH_MARK()                                                                                \
	((struct arch_mark){.sp = (uintptr_t)__builtin_frame_address(0) + 2 * ARCH_WORD})

static inline struct arch_mark arch_mark(const struct unwind_state *caller)
{
	return (struct arch_mark){.sp = caller->sp};
}

static inline struct unwind_state arch_marked(struct arch_mark mark)
{
	const uintptr_t *frame = (const uintptr_t *)(uintptr_t)mark.sp - 2;

	return (struct unwind_state){.pc = frame[1], .sp = mark.sp, .fp = frame[0]};
}

/* Keeps it where signal handlers look. */
static inline void arch_keep(struct arch_mark *place, struct arch_mark mark)
{
	*place = mark;
}

/*
 * For a hook of patched functions: who called such a function. kept: as whoever made the call kept
 * it, which is not needed here, since the frame outside of the hook's is arch/patched_entry.h's.
 */
#define ARCH_PATCHED_MARK(kept)                                                                    \
	((struct arch_mark){.sp = *(const uintptr_t *)__builtin_frame_address(0) + 2 * ARCH_WORD})
#define ARCH_PATCHED_CALLER(kept) arch_marked(ARCH_PATCHED_MARK(kept))

#endif
