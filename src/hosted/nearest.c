#include "hosted/nearest.h"

#include <string.h>

#define NEAREST_LENGTH_MAX 31

static unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Damerau's edit distance: swapping two neighbours counts as one edit. Too long words are never
 * near.
 */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[NEAREST_LENGTH_MAX + 1][NEAREST_LENGTH_MAX + 1];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > NEAREST_LENGTH_MAX || b_length > NEAREST_LENGTH_MAX)
		return NEAREST_LENGTH_MAX;
	for (size_t i = 0; i <= a_length; i++)
		rows[i][0] = (unsigned)i;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		for (size_t j = 1; j <= b_length; j++) {
			unsigned best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = min(best, rows[i - 1][j] + 1);
			best = min(best, rows[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = min(best, rows[i - 2][j - 2] + 1);
			rows[i][j] = best;
		}
	}
	return rows[a_length][b_length];
}

static size_t shared_beginning(const char *a, const char *b)
{
	size_t length = 0;

	while (a[length] && a[length] == b[length])
		length++;
	return length;
}

const char *nearest_word(const char *typed, const char *const *words, size_t count)
{
	const char *best_word = NULL;
	unsigned best = 0;
	size_t typed_length = strlen(typed);

	for (size_t i = 0; i < count; i++) {
		unsigned edits;

		if (!words[i])
			continue;
		edits = distance(typed, words[i]);
		/* A beginning of the word is the best guess, whatever its letters say. */
		if (typed_length >= 2 && strncmp(typed, words[i], typed_length) == 0)
			edits = 0;
		/* More than about a third of the letters wrong is another word. */
		if (edits > 1 + strlen(words[i]) / 4 || edits >= strlen(words[i]))
			continue;
		if (!best_word || edits < best ||
		    (edits == best &&
		     shared_beginning(typed, words[i]) > shared_beginning(typed, best_word))) {
			best_word = words[i];
			best = edits;
		}
	}
	return best_word;
}
