/*
 * Perl's regular expressions, for matching many short texts. A pattern matches anywhere in a text
 * unless ^ or $ say otherwise. A match that takes too many steps is an error, and so are searches
 * that take too much time together: no pattern can keep the tool busy.
 */
#ifndef MALLOW_HOSTED_REGEX_H
#define MALLOW_HOSTED_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/cleanup.h"
#include "hosted/err.h"

struct regex;

/* Compiles a pattern. The error says what is wrong with the pattern, and where. */
struct err *regex_create(const char *pattern, struct regex **ret);
/* Accepts NULL. */
void regex_destroy(struct regex *regex);
CLEANUP_DEFINE(struct regex *, regex_destroy);

/*
 * Whether the pattern matches in text, whose bytes need not be UTF-8. Several threads may search at
 * a time. *left_ns: the processor time that this and later searches may take; it is reduced by what
 * was taken. An error: that time is used up, or this search took too many steps.
 */
struct err *regex_search(const struct regex *regex, const char *text, uint64_t *left_ns, bool *ret);

#endif
