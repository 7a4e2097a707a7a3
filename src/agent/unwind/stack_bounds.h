/*
 * Knows which pages of stacks can be read. A walk reads words from these alone, whatever the unwind
 * tables say: the tables are wrong for functions that switch stacks in assembly, and a program may
 * take a page of its own stack away by mprotect().
 *
 *   pages of all stacks      a table of the process: a word for 64 KiB, a bit for each page in
 *     ^ looked up            which a walk has read. If a page is not there, one system call of
 *     |                      0.2 us asks the kernel.
 *   unwind_stack.known       the run of such pages that a thread is in: two comparisons
 *     ^ compared
 *   walk.limit               where that run ends: one comparison a step
 *
 * All words that are cached of a stack lie in pages of the table, so they can be compared with
 * memory without a look-up. The hooks of mprotect(), munmap() and their like take pages out of the
 * table. If they find one there, all caches are emptied (unwind_host.forgot).
 *
 * A page that cannot be read is not remembered: the kernel is asked again the next time.
 */
#ifndef MALLOW_AGENT_UNWIND_STACK_BOUNDS_H
#define MALLOW_AGENT_UNWIND_STACK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/arch.h"
#include "agent/unwind/unwind.h"
#include "base/compiler.h"

#define STACK_PAGE 4096 /* no system has smaller pages; larger ones are several of these */

/* See stack_bounds_end(). */
uint64_t stack_bounds_end_slow(struct unwind_stack *stack, uint64_t sp);

/*
 * Returns the end of the readable memory around sp: all from the red zone below sp up to that end
 * can be read. 0, or any value up to sp: nothing is known, and each word must be checked. Asks the
 * kernel only about the page of the red zone.
 */
static inline uint64_t stack_bounds_end(struct unwind_stack *stack, uint64_t sp)
{
	uint64_t known = __atomic_load_n(&stack->known, __ATOMIC_RELAXED);
	uint64_t start = known & ~(uint64_t)(STACK_PAGE - 1);
	uint64_t size = (known & (STACK_PAGE - 1)) * STACK_PAGE;

	if (likely(sp - ARCH_RED_ZONE - start < size))
		return start + size;
	return stack_bounds_end_slow(stack, sp);
}

/* Whether all words of [start, end) can be read. Then their pages are in the table. */
bool stack_bounds_can_read(const struct unwind_stack *stack, uint64_t start, uint64_t end);

/* Once, before any walk. */
void stack_bounds_init(const struct unwind_host *host);

/* forbidden: from now on no system calls. Call before the program forbids them. */
void stack_bounds_forbid(bool forbidden);

#endif
