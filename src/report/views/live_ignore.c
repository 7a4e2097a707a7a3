#include "report/views/live_ignore.h"

#include <string.h>

static const char suppression[] = "leak:";

void live_ignore_deinit(struct live_ignore *ignore)
{
	vec_deinit(&ignore->texts);
	suppressions_destroy(ignore->suppressions);
	arena_deinit(&ignore->arena);
	*ignore = (struct live_ignore){0};
}

static struct err *add_line(struct live_ignore *ignore, const char *origin, const char *line)
{
	struct err *err = NULL;

	if (!*line || *line == '#')
		return NULL;
	if (strncmp(line, suppression, strlen(suppression)) != 0)
		return vec_push(&ignore->texts, line) ? NULL : err_no_memory();
	if (!ignore->suppressions)
		err = suppressions_create(&ignore->suppressions);
	return err ? err : suppressions_add(ignore->suppressions, origin, line, strlen(line));
}

struct err *live_ignore_add(struct live_ignore *ignore, const char *origin, const char *text,
			    size_t size)
{
	char *line = arena_copy(&ignore->arena, text, size);
	struct err *err = line ? NULL : err_no_memory();

	while (!err && line) {
		char *end = strchr(line, '\n');

		if (end)
			*end = 0;
		line[strcspn(line, "\r")] = 0;
		err = add_line(ignore, origin, line);
		line = end ? end + 1 : NULL;
	}
	return err;
}

bool live_ignore_has_text(const struct live_ignore *ignore, const char *text)
{
	for (size_t i = 0; i < ignore->texts.count; i++)
		if (strstr(text, ignore->texts.items[i]))
			return true;
	return false;
}
