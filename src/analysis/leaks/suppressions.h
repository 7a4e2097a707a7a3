/*
 * Leaks that are known and not to be counted, in the language of LeakSanitizer: a line
 * "leak:PATTERN" each, blank lines, and lines that begin with '#'.
 *
 * A pattern is looked for anywhere in a text. '*' stands for any characters, '^' in front for the
 * beginning and '$' for the end. As LeakSanitizer has it, each piece between stars is taken where
 * it comes first, so that "b$" is not found in "abb", and what is behind a '$' is nothing.
 *
 * A leak is suppressed if some frame of its stack matches: by its module's path, its function or
 * its source file. It counts for the first pattern, of the innermost such frame.
 */
#ifndef MALLOW_ANALYSIS_LEAKS_SUPPRESSIONS_H
#define MALLOW_ANALYSIS_LEAKS_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

struct suppressions;

struct suppression {
	const char *pattern;
	const char *origin; /* where it is from */
	uint32_t line;      /* of that text, from 1 */
};

struct err *suppressions_create(struct suppressions **ret);
/* Accepts NULL. */
void suppressions_destroy(struct suppressions *suppressions);

/*
 * Adds those of a text behind the others. origin: for messages; both are copied. The error says
 * which line is none; then none of the text was added.
 */
struct err *suppressions_add(struct suppressions *suppressions, const char *origin,
			     const char *text, size_t size);

const struct suppression *suppressions_list(const struct suppressions *suppressions, size_t *count);

/* text NULL or empty: nothing matches. */
bool suppression_matches(const char *pattern, const char *text);

#endif
