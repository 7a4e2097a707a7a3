/*
 * Patterns for names, in the language of LeakSanitizer's suppressions, and files of them.
 *
 * A pattern may match anywhere in a text. '*' stands for any characters, '^' at its start for the
 * beginning of the text, and '$' for the end. As in LeakSanitizer, each piece between stars matches
 * at its first place only, so "b$" does not match "abb"; what follows a '$' is ignored.
 */
#ifndef MALLOW_ANALYSIS_NAMES_PATTERN_H
#define MALLOW_ANALYSIS_NAMES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

/* Whether a text matches. NULL and "" match no pattern. */
bool pattern_matches(const char *pattern, const char *text);

/* Takes a line of a file: not terminated, without blanks around it, never empty. */
typedef struct err *pattern_line(void *context, uint32_t number, const char *line, size_t size);

/*
 * Hands all lines of a file to `take`, but for blank ones and comments, which begin with '#'. Ends
 * with the first error.
 */
struct err *pattern_lines(const char *text, size_t size, pattern_line *take, void *context);

#endif
