#include "analysis/names/pattern.h"

#include <string.h>

bool pattern_matches(const char *pattern, const char *text)
{
	bool at_start = *pattern == '^', after_star = false;

	if (!text || !*text)
		return false;
	pattern += at_start;
	while (*pattern) {
		size_t length = strcspn(pattern, "*$");
		const char *found;

		if (*pattern == '$')
			return !*text || after_star;
		after_star = *pattern == '*';
		if (after_star) {
			at_start = false;
			pattern++;
			continue;
		}
		if (at_start)
			found = strncmp(text, pattern, length) == 0 ? text : NULL;
		else
			found = *text ? memmem(text, strlen(text), pattern, length) : NULL;
		if (!found)
			return false;
		at_start = false;
		text = found + length;
		pattern += length;
	}
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct err *pattern_lines(const char *text, size_t size, pattern_line *take, void *context)
{
	const char *end = text + size;
	struct err *err = NULL;

	for (uint32_t number = 1; !err && text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;
		const char *next = newline ? newline + 1 : end;

		while (text < stop && is_blank(*text))
			text++;
		while (text < stop && is_blank(stop[-1]))
			stop--;
		if (text < stop && *text != '#')
			err = take(context, number, text, (size_t)(stop - text));
		text = next;
	}
	return err;
}
