#include "symbols/symbol_names.h"

#include <string.h>

#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "symbols/demangle.h"

void symbol_names_deinit(struct symbol_names *names)
{
	intern_deinit(&names->strings);
	map_deinit(&names->demangled);
}

const char *symbol_names_add(struct symbol_names *names, const char *text)
{
	return intern_text(&names->strings, text);
}

/* Interns what was written to text. NULL: no memory. */
static const char *intern_buf(struct symbol_names *names, struct buf *text)
{
	const char *string = buf_string(text);

	return string ? intern_bytes(&names->strings, string, text->size) : NULL;
}

/* Whether file begins with the relative directory already. */
static bool is_below(const char *file, const char *directory)
{
	size_t length = strlen(directory);

	while (length && directory[length - 1] == '/')
		length--;
	return length && !strncmp(file, directory, length) && file[length] == '/';
}

/* Drops the last component behind start. false: there is none, or it is "..". */
static bool drop_last_component(struct buf *buf, size_t start)
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
static void append_components(struct buf *buf, size_t start, const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");
		bool up = length == 2 && !memcmp(path, "..", 2);

		if (length && !(length == 1 && path[0] == '.') &&
		    !(up && drop_last_component(buf, start))) {
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
		append_components(ret, start, directory);
	append_components(ret, start, file);
}

const char *symbol_names_source(struct symbol_names *names, const char *directory, const char *file)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;

	source_path(directory, file, &text);
	return intern_buf(names, &text);
}

const char *symbol_names_plain(struct symbol_names *names, const char *raw)
{
	const char *version = raw[0] == '@' ? NULL : strchr(raw, '@');

	return version ? intern_bytes(&names->strings, raw, (size_t)(version - raw)) : raw;
}

/* NULL: no memory. */
static const char *read_name(struct symbol_names *names, const char *raw)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	const char *plain = symbol_names_plain(names, raw);

	if (!plain)
		return NULL;
	demangle(plain, &text);
	return intern_buf(names, &text);
}

const char *symbol_names_demangled(struct symbol_names *names, const char *raw)
{
	uint64_t key = (uintptr_t)raw;
	uint64_t known = map_get(&names->demangled, key);

	if (known != MAP_NONE)
		return (const char *)(uintptr_t)known;

	const char *text = read_name(names, raw);
	uint64_t *value = text ? map_put(&names->demangled, key) : NULL;

	if (!value)
		return NULL;
	*value = (uintptr_t)text;
	return text;
}
