/* Those of arch/instructions.h that a compiler has words for, for architectures without better
 * ones. */
#ifndef MALLOW_AGENT_ARCH_PORTABLE_INSTRUCTIONS_H
#define MALLOW_AGENT_ARCH_PORTABLE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((aligned(1), may_alias)) arch_any_word;

static inline void arch_copy(void *to, const void *from, size_t size)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	for (; size >= 8; size -= 8, t += 8, f += 8)
		*(arch_any_word *)t = *(const arch_any_word *)f;
	while (size--)
		*t++ = *f++;
}

static inline void arch_fill(void *to, int value, size_t size)
{
	unsigned char *t = to;
	uint64_t word = (unsigned char)value * UINT64_C(0x0101010101010101);

	for (; size >= 8; size -= 8, t += 8)
		*(arch_any_word *)t = word;
	while (size--)
		*t++ = (unsigned char)value;
}

/*
 * Where no single instruction adds to memory, exclusive loads and stores do: a handler that comes
 * in between makes the store fail, and it is tried again.
 */
static inline void arch_add(uint64_t *sum, uint64_t value)
{
	__atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

static inline uint64_t arch_fetch_add(uint64_t *sum, uint64_t value)
{
	return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}

static inline bool arch_exchange_if(uint64_t *word, uint64_t *before, uint64_t value)
{
	return __atomic_compare_exchange_n(word, before, value, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

#endif
