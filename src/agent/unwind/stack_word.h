/* Words of the program's stack that a walk has read, and whether they still hold. */
#ifndef MALLOW_AGENT_UNWIND_STACK_WORD_H
#define MALLOW_AGENT_UNWIND_STACK_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/compiler.h"

/* A word of memory, of the machine's size. */
static inline uint64_t word_at(uint64_t address)
{
	return bytes_load(uintptr_t, (const void *)(uintptr_t)address);
}

struct stack_word {
	uint64_t address;
	uint64_t value;
};

/* Words are compared in groups of four, with as much padding in front of each array. */
#define WORD_GROUP 4

/* Fills the padding with words that always hold. */
static inline void words_pad(struct stack_word padding[WORD_GROUP])
{
	for (int i = 0; i < WORD_GROUP; i++)
		padding[i] = (struct stack_word){.address = (uintptr_t)&padding[i].value};
}

static inline bool word_holds(const struct stack_word *word)
{
	return likely(word_at(word->address) == word->value);
}

/*
 * Whether words[0 … count) hold, the last one first. After the first that differs no other is read,
 * because memory further out may not even be mapped; its index goes to *differs.
 *
 * Words are compared in groups, and the last group may reach into the padding. A loop over single
 * words would end at another round nearly each time, and such a misprediction costs more than three
 * comparisons too many.
 */
static inline __attribute__((always_inline)) bool words_hold(const struct stack_word *words,
							     size_t count, size_t *differs)
{
	const struct stack_word *word = words + count;

	while (word > words) {
		if (unlikely(!word_holds(--word)) || unlikely(!word_holds(--word)) ||
		    unlikely(!word_holds(--word)) || unlikely(!word_holds(--word))) {
			*differs = (size_t)(word - words);
			return false;
		}
	}
	return true;
}

#endif
