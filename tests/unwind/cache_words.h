/*
 * Stacks that no program has: words in memory that unwind tables lead through, changed one at a
 * time between captures.
 */
#ifndef TESTS_UNWIND_CACHE_WORDS_H
#define TESTS_UNWIND_CACHE_WORDS_H

#include "cache_check.h"

/* So many captures. */
void cache_words_run(struct cache_check *check, unsigned long captures);

#endif
