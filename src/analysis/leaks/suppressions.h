/*
 * Suppressions: known leaks that are not counted, in the language of LeakSanitizer. A line is
 * "leak:PATTERN", blank, or a comment that begins with '#'. Patterns are those of names/pattern.h.
 *
 * A leak is suppressed if a frame of its stack matches, by its module's path, its function or its
 * source file. It counts for the innermost such frame, and the first pattern that matches that.
 */
#ifndef MALLOW_ANALYSIS_LEAKS_SUPPRESSIONS_H
#define MALLOW_ANALYSIS_LEAKS_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/cleanup.h"

struct suppressions;

struct suppression {
	const char *pattern;
	const char *origin; /* where it comes from */
	uint32_t line;      /* its line there, from 1 */
};

struct err *suppressions_create(struct suppressions **ret);
/* Accepts NULL. */
void suppressions_destroy(struct suppressions *suppressions);
CLEANUP_DEFINE(struct suppressions *, suppressions_destroy);

/*
 * Adds the suppressions in a text behind the others. origin: where it comes from, for messages.
 * Both are copied. The error names a line that is none; then nothing of the text is added.
 */
struct err *suppressions_add(struct suppressions *suppressions, const char *origin,
			     const char *text, size_t size);

const struct suppression *suppressions_list(const struct suppressions *suppressions, size_t *count);

#endif
