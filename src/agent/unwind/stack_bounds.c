/* See stack_bounds.h. */
#include "agent/unwind/stack_bounds.h"

#include <stdatomic.h>

#include "agent/unwind/memory.h"
#include "agent/unwind/proc_maps.h"

/*
 * A program that switches between thousands of stacks, with code without tables on them, would
 * make each capture read /proc/self/maps. After so many, its stacks end at such code.
 */
#define REFRESHES_MAX 4096

/* A signal handler on this thread may refresh at any moment: a torn pair must not be used. */
static uint64_t remembered_end(const volatile struct unwind_stack *stack, uint64_t sp)
{
	uint32_t before = stack->refreshes;
	uint64_t low = stack->low, high = stack->high;

	return stack->refreshes == before && low <= sp && sp < high ? high : 0;
}

static void remember(volatile struct unwind_stack *stack, uint64_t low, uint64_t high)
{
	stack->high = 0;
	stack->low = low;
	stack->high = high;
	// Interrupted in between by a handler that remembered its own stack: forget both.
	if (stack->low != low || stack->high != high)
		stack->high = 0;
}

struct search {
	uint64_t address;
	struct proc_mapping mapping;
	bool found;
};

static void search(void *argument)
{
	struct search *search = argument;

	search->found = proc_maps_find(search->address, &search->mapping);
}

uint64_t stack_bounds_end(struct unwind_stack *stack, uint64_t sp, uint64_t inside)
{
	uint64_t end = remembered_end(stack, sp);
	struct search wanted = {.address = sp};

	if (inside < end)
		return end;
	if (stack->refreshes >= REFRESHES_MAX)
		return 0;
	stack->refreshes++;
	unwind_run_slow(search, &wanted);
	if (!wanted.found || !wanted.mapping.readable)
		return 0;
	remember(stack, wanted.mapping.start, wanted.mapping.end);
	return wanted.mapping.end;
}
