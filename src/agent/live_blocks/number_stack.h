/*
 * Numbers of entries of an array that are free, each with the next one's in a word of its entry: by
 * whoever gave one back. Lock-free, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_NUMBER_STACK_H
#define MALLOW_AGENT_LIVE_BLOCKS_NUMBER_STACK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The number on top, 0: none, plus how often one was pushed << 32: between a look at what is behind
 * the first one and taking that it may have been taken and come back.
 */
struct number_stack {
	uint64_t top; /* atomic */
};

static inline void number_stack_push(struct number_stack *stack, uint32_t number, uint64_t *word)
{
	uint64_t top = __atomic_load_n(&stack->top, __ATOMIC_RELAXED), next;

	do {
		__atomic_store_n(word, (uint32_t)top, __ATOMIC_RELAXED);
		next = ((top >> 32) + 1) << 32 | number;
	} while (!__atomic_compare_exchange_n(&stack->top, &top, next, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

/* The number on top, 0: none; to be asked for with *top, and taken with its word. */
static inline uint32_t number_stack_top(const struct number_stack *stack, uint64_t *top)
{
	*top = __atomic_load_n(&stack->top, __ATOMIC_ACQUIRE);
	return (uint32_t)*top;
}

/* false: something came first. */
static inline bool number_stack_pop(struct number_stack *stack, uint64_t top, const uint64_t *word)
{
	uint64_t next = top >> 32 << 32 | (uint32_t)__atomic_load_n(word, __ATOMIC_RELAXED);

	return __atomic_compare_exchange_n(&stack->top, &top, next, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

#endif
