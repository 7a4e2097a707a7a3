/* Finds the word of a list that a mistyped one was most likely meant to be. */
#ifndef MALLOW_HOSTED_NEAREST_H
#define MALLOW_HOSTED_NEAREST_H

#include <stddef.h>

/*
 * The word with the fewest edits (insert, drop, replace, swap neighbours) from typed; of several,
 * the one that shares the longest beginning with it. NULL: none is near enough to be a typing
 * error. Entries of words that are NULL are skipped.
 */
const char *nearest_word(const char *typed, const char *const *words, size_t count);

#endif
