#include "analysis/leaks/suppressions.h"

#include <string.h>

#include "analysis/names/pattern.h"
#include "hosted/arena.h"
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

/* A file that is being read. */
struct reading {
	struct suppressions *suppressions;
	const char *origin;
};

static struct err *add_line(void *context, uint32_t number, const char *line, size_t size)
{
	static const char type[] = "leak:";
	const struct reading *reading = context;
	struct suppression suppression = {.origin = reading->origin, .line = number};

	if (memchr(line, 0, size))
		return err_create("%s: line %u has a byte 0: no text", reading->origin, number);
	if (size < strlen(type) || memcmp(line, type, strlen(type)) != 0)
		return err_create("%s: line %u, '%.*s', is not leak:PATTERN", reading->origin,
				  number, size < 100 ? (int)size : 100, line);
	suppression.pattern =
		arena_copy(&reading->suppressions->arena, line + strlen(type), size - strlen(type));
	if (!suppression.pattern || !vec_push(&reading->suppressions->list, suppression))
		return err_no_memory();
	return NULL;
}

struct err *suppressions_add(struct suppressions *suppressions, const char *origin,
			     const char *text, size_t size)
{
	size_t before = suppressions->list.count;
	struct reading reading = {suppressions, arena_text(&suppressions->arena, origin)};
	struct err *err =
		reading.origin ? pattern_lines(text, size, add_line, &reading) : err_no_memory();

	if (err)
		suppressions->list.count = before;
	return err;
}
