#include "analysis/names/symbols_section.h"

#include <string.h>

#include "base/first_where.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "trace/cursor.h"

/* The fewest bytes that a module or a position takes. More of them than would fit are damage. */
#define MODULE_BYTES_MIN   4
#define POSITION_BYTES_MIN 5

struct position {
	uint64_t address;
	const uint8_t *symbols; /* points to its offset, count and so on */
};

struct section_module {
	enum symbols_module_kind kind;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_size;
	size_t first, count; /* its positions, by rising address */
};

struct symbols_section {
	const uint8_t *data;
	const uint8_t *end;
	VEC(const char *) strings;
	VEC(struct section_module) modules;
	VEC(struct position) positions;
	VEC(struct symbol) found; /* the result of the last look-up */
};

void symbols_section_close(struct symbols_section *section)
{
	if (!section)
		return;
	vec_deinit(&section->strings);
	vec_deinit(&section->modules);
	vec_deinit(&section->positions);
	vec_deinit(&section->found);
	free(section);
}
CLEANUP_DEFINE(struct symbols_section *, symbols_section_close);

static struct err *damaged(const struct symbols_section *section, const struct cursor *cursor,
			   const char *expected)
{
	return err_create("symbols: expected %s at offset %zu", expected,
			  (size_t)(cursor->at - section->data));
}

static struct err *read_strings(struct symbols_section *section, struct cursor *cursor)
{
	uint64_t count = cursor_varint(cursor), size = cursor_varint(cursor);
	const uint8_t *at = cursor_bytes(cursor, size), *end = at ? at + size : NULL;

	if (!at || count > size)
		return damaged(section, cursor, "the table of strings");
	if (!vec_reserve(&section->strings, count))
		return err_no_memory();
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;

		if (!stop)
			return damaged(section, cursor, "as many strings as announced");
		section->strings.items[section->strings.count++] = (const char *)at;
		at = stop + 1;
	}
	return NULL;
}

/* Looks a string up. *ret NULL: id 0, none. */
static void read_string(const struct symbols_section *section, struct cursor *cursor, uint64_t id,
			const char **ret)
{
	if (id > section->strings.count)
		cursor->failed = true;
	else
		*ret = id ? section->strings.items[id - 1] : NULL;
}

static void read_symbol(const struct symbols_section *section, struct cursor *cursor,
			struct symbol *ret)
{
	uint64_t file, line = 0;

	*ret = (struct symbol){.raw_function = NULL};
	read_string(section, cursor, cursor_varint(cursor), &ret->raw_function);
	file = cursor_varint(cursor);
	ret->inlined = file & 1;
	read_string(section, cursor, file >> 1, &ret->file);
	if (ret->file)
		line = cursor_varint(cursor);
	if (line > UINT32_MAX)
		cursor->failed = true;
	ret->line = (uint32_t)line;
}

static struct err *read_position(struct symbols_section *section, struct cursor *cursor,
				 uint64_t *address)
{
	struct position position;
	struct symbol symbol;
	uint64_t count;

	if (__builtin_add_overflow(*address, cursor_varint(cursor), address))
		return damaged(section, cursor, "an address of 64 bits");
	position.address = *address;
	position.symbols = cursor->at;
	cursor_varint(cursor);
	count = cursor_varint(cursor);
	if (!count)
		return damaged(section, cursor, "a symbol");
	for (uint64_t i = 0; i < count && !cursor->failed; i++)
		read_symbol(section, cursor, &symbol);
	if (cursor->failed)
		return damaged(section, cursor, "a whole position");
	return vec_push(&section->positions, position) ? NULL : err_no_memory();
}

static struct err *read_positions(struct symbols_section *section, struct cursor *cursor,
				  struct section_module *module)
{
	uint64_t count = cursor_varint(cursor), address = 0;

	if (cursor->failed || count > cursor_left(cursor) / POSITION_BYTES_MIN)
		return damaged(section, cursor, "as many positions as announced");
	module->first = section->positions.count;
	module->count = count;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t before = address;
		struct err *err = read_position(section, cursor, &address);

		if (err)
			return err;
		if (i && address == before)
			return damaged(section, cursor, "a rising address");
	}
	return NULL;
}

static struct err *read_module(struct symbols_section *section, struct cursor *cursor)
{
	struct section_module module = {.path = NULL};
	uint64_t kind = cursor_varint(cursor);

	read_string(section, cursor, cursor_varint(cursor), &module.path);
	module.build_id_size = cursor_varint(cursor);
	module.build_id = cursor_bytes(cursor, module.build_id_size);
	// A later version's kind would have other positions.
	if (cursor->failed || kind > SYMBOLS_FILE || (kind == SYMBOLS_FILE && !module.path))
		return damaged(section, cursor, "a module");
	module.kind = (enum symbols_module_kind)kind;

	struct err *err = read_positions(section, cursor, &module);

	if (err)
		return err;
	return vec_push(&section->modules, module) ? NULL : err_no_memory();
}

static struct err *read_all(struct symbols_section *section)
{
	struct cursor cursor = cursor_make(section->data, (size_t)(section->end - section->data));
	uint64_t version = cursor_varint(&cursor), count;
	struct err *err;

	if (version != SYMBOLS_VERSION)
		return err_create("symbols: version %llu, this reader knows %d",
				  (unsigned long long)version, SYMBOLS_VERSION);
	err = read_strings(section, &cursor);
	if (err)
		return err;
	count = cursor_varint(&cursor);
	if (cursor.failed || count > cursor_left(&cursor) / MODULE_BYTES_MIN || count >= UINT32_MAX)
		return damaged(section, &cursor, "as many modules as announced");
	for (uint64_t i = 0; !err && i < count; i++)
		err = read_module(section, &cursor);
	if (!err && (cursor.failed || cursor_left(&cursor)))
		err = damaged(section, &cursor, "the end");
	return err;
}

struct err *symbols_section_open(const uint8_t *data, size_t size, struct symbols_section **ret)
{
	cleanup(symbols_section_close_at) struct symbols_section *section =
		calloc(1, sizeof(*section));

	if (!section)
		return err_no_memory();
	section->data = data;
	section->end = data + size;

	struct err *err = read_all(section);

	if (err)
		return err;
	*ret = steal(&section);
	return NULL;
}

uint32_t symbols_section_module(const struct symbols_section *section, const char *path,
				const uint8_t *build_id, size_t build_id_size)
{
	for (size_t i = 0; i < section->modules.count; i++) {
		const struct section_module *module = &section->modules.items[i];

		if (!path && module->kind == SYMBOLS_NO_MODULE)
			return (uint32_t)i;
		if (path && module->kind == SYMBOLS_FILE && !strcmp(module->path, path) &&
		    module->build_id_size == build_id_size &&
		    (!build_id_size || !memcmp(module->build_id, build_id, build_id_size)))
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

/* Reads the symbols of a position. They were checked when the section was opened. */
static struct err *read_found(struct symbols_section *section, const struct position *position)
{
	struct cursor cursor =
		cursor_make(position->symbols, (size_t)(section->end - position->symbols));
	uint64_t offset = cursor_varint(&cursor), count = cursor_varint(&cursor);

	if (!vec_reserve(&section->found, count))
		return err_no_memory();
	for (uint64_t i = 0; i < count; i++) {
		struct symbol *symbol = &section->found.items[section->found.count++];

		read_symbol(section, &cursor, symbol);
		symbol->offset = offset;
	}
	return NULL;
}

static const struct position *find_position(const struct symbols_section *section,
					    const struct section_module *module, uint64_t address)
{
	const struct position *positions = section->positions.items;
	size_t end = module->first + module->count;
	size_t at = first_where(i, module->first, end, positions[i].address >= address);

	return at < end && positions[at].address == address ? &positions[at] : NULL;
}

const char *symbols_section_note(const struct symbols_section *section, uint32_t module,
				 bool *named)
{
	const struct section_module *in = &section->modules.items[module];
	const struct position *position = find_position(section, in, SYMBOLS_NOTE);
	struct symbol symbol;

	*named = in->count > (position != NULL);
	if (!position)
		return NULL;

	struct cursor cursor =
		cursor_make(position->symbols, (size_t)(section->end - position->symbols));

	cursor_varint(&cursor); // offset
	cursor_varint(&cursor); // count, at least 1
	read_symbol(section, &cursor, &symbol);
	return symbol.raw_function;
}

struct err *symbols_section_find(struct symbols_section *section, uint32_t module, uint64_t address,
				 const struct symbol **ret, size_t *count)
{
	const struct position *position =
		find_position(section, &section->modules.items[module], address);

	section->found.count = 0;
	if (position) {
		struct err *err = read_found(section, position);

		if (err)
			return err;
	}
	*ret = section->found.items;
	*count = section->found.count;
	return NULL;
}
