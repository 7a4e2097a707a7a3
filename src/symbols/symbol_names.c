#include "symbols/symbol_names.h"

#include <string.h>

#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "symbols/demangle.h"
#include "symbols/source_path.h"

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
