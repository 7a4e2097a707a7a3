/* The word of a list that a mistyped one was most likely meant to be. */
#ifndef MALLOW_HOSTED_NEAREST_H
#define MALLOW_HOSTED_NEAREST_H

#include <stddef.h>

/*
 * Among count words the one with the fewest edits (insert, drop, replace, swap neighbours) from
 * typed, and of these the one that shares the longest beginning with it; NULL if even that is too
 * far to be a typing error. Words of NULL are passed over.
 */
const char *nearest_word(const char *typed, const char *const *words, size_t count);

#endif
