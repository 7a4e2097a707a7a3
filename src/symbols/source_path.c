#include "symbols/source_path.h"

#include <stdbool.h>
#include <string.h>

/* Whether file begins with the relative directory already. */
static bool is_below(const char *file, const char *directory)
{
	size_t length = strlen(directory);

	while (length && directory[length - 1] == '/')
		length--;
	return length && !strncmp(file, directory, length) && file[length] == '/';
}

/* Drops the last component behind start. false: there is none, or it is "..". */
static bool drop_last(struct buf *buf, size_t start)
{
	size_t end = buf->size;

	while (end > start && buf->data[end - 1] != '/')
		end--;
	if (buf->size == start || (buf->size - end == 2 && !memcmp(buf->data + end, "..", 2)))
		return false;
	buf->size = end > start ? end - 1 : end;
	return true;
}

/* Appends the components of path to those behind start. */
static void append(struct buf *buf, size_t start, const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");
		bool up = length == 2 && !memcmp(path, "..", 2);

		if (length && !(length == 1 && path[0] == '.') && !(up && drop_last(buf, start))) {
			if (buf->size > start)
				buf_char(buf, '/');
			buf_put(buf, path, length);
		}
		path += length;
		path += strspn(path, "/");
	}
}

void source_path(const char *directory, const char *file, struct buf *ret)
{
	bool joins = file[0] != '/' && directory && directory[0];

	if (joins && directory[0] != '/' && is_below(file, directory))
		joins = false;
	if ((joins ? directory : file)[0] == '/')
		buf_char(ret, '/');

	size_t start = ret->size;

	if (joins)
		append(ret, start, directory);
	append(ret, start, file);
}
