#include "analysis/leaks/suppressions.h"

#include <string.h>

#include "hosted/arena.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"

struct suppressions {
	struct arena arena;
	VEC(struct suppression) list;
};

struct err *suppressions_create(struct suppressions **ret)
{
	struct suppressions *suppressions = calloc(1, sizeof(*suppressions));

	if (!suppressions)
		return err_no_memory();
	*ret = suppressions;
	return NULL;
}

void suppressions_destroy(struct suppressions *suppressions)
{
	if (!suppressions)
		return;
	vec_deinit(&suppressions->list);
	arena_deinit(&suppressions->arena);
	free(suppressions);
}

const struct suppression *suppressions_list(const struct suppressions *suppressions, size_t *count)
{
	*count = suppressions->list.count;
	return suppressions->list.items;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct err *add_line(struct suppressions *suppressions, const char *origin, uint32_t number,
			    const char *line, size_t size)
{
	static const char type[] = "leak:";
	struct suppression suppression = {.origin = origin, .line = number};

	if (memchr(line, 0, size))
		return err_create("%s: line %u has a byte 0: no text", origin, number);
	if (size < strlen(type) || memcmp(line, type, strlen(type)) != 0)
		return err_create("%s: line %u, '%.*s', is not leak:PATTERN", origin, number,
				  size < 100 ? (int)size : 100, line);
	suppression.pattern =
		arena_copy(&suppressions->arena, line + strlen(type), size - strlen(type));
	if (!suppression.pattern || !vec_push(&suppressions->list, suppression))
		return err_no_memory();
	return NULL;
}

struct err *suppressions_add(struct suppressions *suppressions, const char *origin,
			     const char *text, size_t size)
{
	size_t before = suppressions->list.count;
	const char *end = text + size;
	struct err *err = NULL;
	uint32_t number = 0;

	origin = arena_text(&suppressions->arena, origin);
	if (!origin)
		return err_no_memory();
	while (!err && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;
		const char *next = newline ? newline + 1 : end;

		number++;
		while (text < stop && is_blank(*text))
			text++;
		while (text < stop && is_blank(stop[-1]))
			stop--;
		if (text < stop && *text != '#')
			err = add_line(suppressions, origin, number, text, (size_t)(stop - text));
		text = next;
	}
	if (err)
		suppressions->list.count = before;
	return err;
}

bool suppression_matches(const char *pattern, const char *text)
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
		found = *text ? memmem(text, strlen(text), pattern, length) : NULL;
		if (!found || (at_start && found != text))
			return false;
		at_start = false;
		text = found + length;
		pattern += length;
	}
	return true;
}
