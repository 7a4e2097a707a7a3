/* What is valid UTF-8 (Unicode 15, table 3-7). Text in recordings is whatever a program had. */
#ifndef MALLOW_HOSTED_UTF8_H
#define MALLOW_HOSTED_UTF8_H

#include <stddef.h>

/* Length in bytes of the valid sequence at text, 0: there is none. size >= 1. */
size_t utf8_sequence(const char *text, size_t size);

/*
 * Bytes that one U+FFFD stands for at an invalid position: the longest beginning of a valid
 * sequence, at least 1. What browsers and Python do.
 */
size_t utf8_invalid(const char *text, size_t size);

#endif
