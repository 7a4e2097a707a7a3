/*
 * Adding to sums that readers, signal handlers, and perhaps other threads use at the same time.
 * While the process has one thread this takes no locked instruction.
 */
#ifndef MALLOW_AGENT_ARCH_ATOMIC_ADD_H
#define MALLOW_AGENT_ARCH_ATOMIC_ADD_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/instructions.h"
#include "base/compiler.h"

/*
 * Points at glibc's __libc_single_threaded, which is true while the process has one thread, or at a
 * zero where the C library has none. Set once, before the first sum.
 */
extern const char *atomic_add_alone_flag hidden;

/* Whether no other thread can come in between. A signal handler can. */
static inline bool atomic_add_alone(void)
{
	return *atomic_add_alone_flag;
}

/*
 * Adds to the sum. alone: atomic_add_alone(). It is one instruction: a signal handler runs before
 * or after it, never in the middle.
 */
static inline void atomic_add_as(bool alone, uint64_t *sum, uint64_t value)
{
	if (likely(alone))
		arch_add(sum, value);
	else
		__atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

/* The same, and returns the new sum. */
static inline uint64_t atomic_add_fetch_as(bool alone, uint64_t *sum, uint64_t value)
{
	if (likely(alone))
		return arch_fetch_add(sum, value) + value;
	return __atomic_add_fetch(sum, value, __ATOMIC_RELAXED);
}

/*
 * Compare and swap. If *word is *before, sets *word to value and returns true. If not, copies *word
 * to *before and returns false.
 */
static inline bool atomic_add_exchange_as(bool alone, uint64_t *word, uint64_t *before,
					  uint64_t value)
{
	if (likely(alone))
		return arch_exchange_if(word, before, value);
	return __atomic_compare_exchange_n(word, before, value, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* Sets a word that is 0. false: it is not 0. */
static inline bool atomic_add_claim(uint64_t *word, uint64_t value)
{
	uint64_t none = 0;

	return atomic_add_exchange_as(atomic_add_alone(), word, &none, value);
}

#endif
