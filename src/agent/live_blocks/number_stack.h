/*
 * A Treiber stack of the free entries of an array. Entries are known by their numbers; a word of
 * each free entry holds the number of the next one. Lock-free, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_BLOCKS_NUMBER_STACK_H
#define MALLOW_AGENT_LIVE_BLOCKS_NUMBER_STACK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The number on top (0: none), and in the upper half a count of pushes. Without the count a pop
 * could succeed although the entry was taken and came back in between (ABA).
 */
struct number_stack {
	uint64_t top; /* atomic */
};

/* Puts a free entry on top. word: the entry's, which gets the number of the next one. */
static inline void number_stack_push(struct number_stack *stack, uint32_t number, uint64_t *word)
{
	uint64_t top = __atomic_load_n(&stack->top, __ATOMIC_RELAXED), next;

	do {
		__atomic_store_n(word, (uint32_t)top, __ATOMIC_RELAXED);
		next = ((top >> 32) + 1) << 32 | number;
	} while (!__atomic_compare_exchange_n(&stack->top, &top, next, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

/* The number on top; 0: none. *top is for number_stack_pop(). */
static inline uint32_t number_stack_top(const struct number_stack *stack, uint64_t *top)
{
	*top = __atomic_load_n(&stack->top, __ATOMIC_ACQUIRE);
	return (uint32_t)*top;
}

/*
 * Takes the number on top off the stack. top: from number_stack_top(); word: that entry's. false:
 * another thread came first, so begin again with number_stack_top().
 */
static inline bool number_stack_pop(struct number_stack *stack, uint64_t top, const uint64_t *word)
{
	uint64_t next = top >> 32 << 32 | (uint32_t)__atomic_load_n(word, __ATOMIC_RELAXED);

	return __atomic_compare_exchange_n(&stack->top, &top, next, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

#endif
