#include "analysis/symbolized.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hosted/arena.h"
#include "hosted/cleanup.h"

struct frame_lines {
	const struct named_frame *lines; /* NULL: not resolved yet */
	size_t count;
};

struct symbolized {
	const struct recording *recording;
	struct symbolizer *symbolizer;
	struct arena arena;
	struct symbol_module **modules; /* of each module of the recording; NULL: not opened yet */
	struct frame_lines *frames;     /* of each frame */
};

void symbolized_destroy(struct symbolized *symbolized)
{
	if (!symbolized)
		return;
	symbolizer_destroy(symbolized->symbolizer);
	arena_deinit(&symbolized->arena);
	free(symbolized->modules);
	free(symbolized->frames);
	free(symbolized);
}
CLEANUP_DEFINE(struct symbolized *, symbolized_destroy);

struct err *symbolized_create(const struct recording *recording, struct symbolized **ret)
{
	cleanup(symbolized_destroy_at) struct symbolized *symbolized =
		calloc(1, sizeof(*symbolized));
	uint32_t modules, frames;
	struct err *err;

	if (!symbolized)
		return err_no_memory();
	recording_modules(recording, &modules);
	recording_frames(recording, &frames);
	symbolized->recording = recording;
	symbolized->modules = calloc((size_t)modules + 1, sizeof(*symbolized->modules));
	symbolized->frames = calloc((size_t)frames + 1, sizeof(*symbolized->frames));
	if (!symbolized->modules || !symbolized->frames)
		return err_no_memory();
	err = symbolizer_create(&symbolized->symbolizer);
	if (err)
		return err;
	*ret = steal(&symbolized);
	return NULL;
}

__attribute__((format(printf, 2, 3))) static const char *arena_format(struct arena *arena,
								      const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return arena_text(arena, text);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The name of a pc that is no code, or lies in no module. */
static const char *bare_name(struct symbolized *symbolized, uint64_t pc)
{
	switch (pc) {
	case TRACE_PC_TRUNCATED:
		return "[truncated]";
	case TRACE_PC_BROKEN:
		return "[broken]";
	case TRACE_PC_LOST:
		return "[lost]";
	default:
		return arena_format(&symbolized->arena, "0x%" PRIx64, pc);
	}
}

static struct err *resolve_bare(struct symbolized *symbolized, uint64_t pc, struct frame_lines *ret)
{
	struct named_frame *line = arena_array(&symbolized->arena, 1, sizeof(*line));

	if (!line)
		return err_no_memory();
	line->address = pc <= TRACE_PC_LAST_SPECIAL ? 0 : pc - 1;
	line->function = bare_name(symbolized, pc);
	if (!line->function)
		return err_no_memory();
	*ret = (struct frame_lines){line, 1};
	return NULL;
}

/* The program's own module: the one with its path, or without any. */
static bool is_program(const struct symbolized *symbolized, const struct recorded_module *module)
{
	const char *program = recording_facts(symbolized->recording)->program;

	return !module->path[0] || strcmp(module->path, program) == 0;
}

static struct err *open_module(struct symbolized *symbolized, uint32_t index,
			       struct symbol_module **ret)
{
	uint32_t count;
	const struct recorded_module *module =
		&recording_modules(symbolized->recording, &count)[index];
	const char *path = module->path;
	struct err *err = NULL;

	if (!path[0])
		path = recording_facts(symbolized->recording)->program;
	if (!symbolized->modules[index])
		err = symbolizer_module(symbolized->symbolizer, path, module->build_id,
					module->build_id_size, &symbolized->modules[index]);
	if (!err)
		*ret = symbolized->modules[index];
	return err;
}

static struct err *fill_line(struct symbolized *symbolized, const struct recorded_module *module,
			     uint64_t address, const struct symbol *symbol,
			     struct named_frame *line)
{
	const char *path = module->path;

	if (!path[0])
		path = recording_facts(symbolized->recording)->program;
	line->module = path;
	line->module_name = last_part(path);
	line->in_program = is_program(symbolized, module);
	line->address = address;
	line->function = symbol->function;
	line->has_symbol = symbol->function;
	line->file = symbol->file;
	line->line = symbol->line;
	line->inlined = symbol->inlined;
	if (!line->has_symbol)
		line->function = arena_format(&symbolized->arena, "[%s]+0x%" PRIx64,
					      line->module_name, address - module->bias);
	return line->function ? NULL : err_no_memory();
}

static struct err *resolve(struct symbolized *symbolized, const struct recorded_frame *frame,
			   struct frame_lines *ret)
{
	uint32_t module_count;
	const struct recorded_module *modules =
		recording_modules(symbolized->recording, &module_count);
	const struct recorded_module *module;
	struct symbol_module *symbols;
	const struct symbol *found;
	struct named_frame *lines;
	struct err *err;
	size_t count;

	if (frame->module == RECORDING_NONE)
		return resolve_bare(symbolized, frame->pc, ret);
	module = &modules[frame->module];
	err = open_module(symbolized, frame->module, &symbols);
	if (err)
		return err;
	err = symbol_module_find(symbols, frame->pc - 1 - module->bias, &found, &count);
	if (err)
		return err;
	lines = arena_array(&symbolized->arena, count, sizeof(*lines));
	if (!lines)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		err = fill_line(symbolized, module, frame->pc - 1, &found[i], &lines[i]);
		if (err)
			return err;
	}
	*ret = (struct frame_lines){lines, count};
	return NULL;
}

struct err *symbolized_frame(struct symbolized *symbolized, uint32_t frame,
			     const struct named_frame **ret, size_t *count)
{
	struct frame_lines *lines = &symbolized->frames[frame];
	uint32_t frame_count;
	struct err *err;

	if (!lines->lines) {
		err = resolve(symbolized,
			      &recording_frames(symbolized->recording, &frame_count)[frame], lines);
		if (err)
			return err;
	}
	*ret = lines->lines;
	*count = lines->count;
	return NULL;
}
