/* Words of the program's stack that a walk has read, and whether they still hold. */
#ifndef MALLOW_AGENT_UNWIND_STACK_WORD_H
#define MALLOW_AGENT_UNWIND_STACK_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/compiler.h"

struct stack_word {
	uint64_t address;
	uint64_t value;
};

/* Words are compared by so many; in front of every array of them lies as much padding. */
#define WORD_GROUP 4

/* Fills the padding with words that always hold. */
static inline void words_pad(struct stack_word padding[WORD_GROUP])
{
	for (int i = 0; i < WORD_GROUP; i++)
		padding[i] = (struct stack_word){.address = (uint64_t)&padding[i].value};
}

static inline bool word_holds(const struct stack_word *word)
{
	return likely(bytes_u64((const void *)word->address) == word->value);
}

/*
 * Whether words[0 … count) hold, the last one first: after the first that differs, whose index
 * goes to *differs, none is read, because what lies further out may not even be mapped. By groups,
 * of which the last may reach into the padding: the rounds of a loop over single words are foretold
 * wrongly nearly each time, and that costs more than three comparisons too many.
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
