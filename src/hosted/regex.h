/*
 * Regular expressions as Perl has them, for matching many short texts. A search anywhere in the
 * text, unless the pattern says otherwise by ^ and $. A match that takes too many steps is given up
 * as an error, and so are many that take a long time together: no pattern can keep the tool busy.
 */
#ifndef MALLOW_HOSTED_REGEX_H
#define MALLOW_HOSTED_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"

struct regex;

/* The error says what is wrong with the pattern, and where. */
struct err *regex_create(const char *pattern, struct regex **ret);
/* Accepts NULL. */
void regex_destroy(struct regex *regex);

/*
 * Whether the pattern is in text, which may be any bytes. May be asked by several threads. left_ns:
 * the processor time that this search and later ones may take; an error when it is used up.
 */
struct err *regex_search(const struct regex *regex, const char *text, uint64_t *left_ns, bool *ret);

#endif
