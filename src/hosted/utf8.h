/*
 * Tells valid UTF-8 (Unicode 15, table 3-7) from other bytes: texts in recordings are whatever a
 * program had.
 */
#ifndef MALLOW_HOSTED_UTF8_H
#define MALLOW_HOSTED_UTF8_H

#include <stddef.h>

/* The length in bytes of the valid sequence at text. 0: there is none. size >= 1. */
size_t utf8_sequence(const char *text, size_t size);

/*
 * How many bytes at an invalid position become one U+FFFD: the longest beginning of a valid
 * sequence, at least 1. Browsers and Python do the same.
 */
size_t utf8_invalid(const char *text, size_t size);

#endif
