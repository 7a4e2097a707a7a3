/*
 * Which memory of stacks can be read: no walk reads a word anywhere else, whatever the unwind
 * tables say. They lie of functions that switch stacks in assembly, and a program may take a page
 * of its own stack away by mprotect().
 *
 *   pages of all stacks      a table of the process: a word for 64 KiB, a bit for each page in
 *     ^ looked up            which a walk has read. A page that is not there is asked for once,
 *     |                      by a system call of 0.2 us.
 *   unwind_stack.known       the run of such pages that a thread is in: two comparisons
 *     ^ compared
 *   walk.limit               where that run ends: one comparison a step, as nothing else costs
 *
 * What is cached of a stack lies in pages of the table, so that nothing need be looked up before
 * it is compared with memory: the hooks of mprotect(), munmap() and their like take pages out of
 * the table, and if they find one, all caches are emptied (unwind_host.forgot).
 *
 * Pages that are read-protected are not remembered as such: they are asked for anew.
 */
#ifndef MALLOW_AGENT_UNWIND_STACK_BOUNDS_H
#define MALLOW_AGENT_UNWIND_STACK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "base/compiler.h"

#define STACK_PAGE 4096 /* smaller than this they are nowhere */

/*
 * Below sp an interrupted leaf function may keep words (the red zone of the ABI), and a step may
 * read as far below, where the fp of a plain rule lies.
 */
#define STACK_RED_ZONE 128

/* See stack_bounds_end(). */
uint64_t stack_bounds_end_slow(struct unwind_stack *stack, uint64_t sp);

/*
 * Where the readable memory around sp ends: all from the red zone below sp to there can be read.
 * 0, or at most sp: each word must be asked for. Asks the kernel nothing about pages outside.
 */
static inline uint64_t stack_bounds_end(struct unwind_stack *stack, uint64_t sp)
{
	uint64_t known = __atomic_load_n(&stack->known, __ATOMIC_RELAXED);
	uint64_t start = known & ~(uint64_t)(STACK_PAGE - 1);
	uint64_t size = (known & (STACK_PAGE - 1)) * STACK_PAGE;

	if (likely(sp - STACK_RED_ZONE - start < size))
		return start + size;
	return stack_bounds_end_slow(stack, sp);
}

/* Whether all words of [start, end) can be read. They are from then on in the table. */
bool stack_bounds_can_read(const struct unwind_stack *stack, uint64_t start, uint64_t end);

/* Once, before any walk. */
void stack_bounds_init(const struct unwind_host *host);

/* No more system calls. The program has not yet forbidden them. */
void stack_bounds_forbid(bool forbidden);

#endif
