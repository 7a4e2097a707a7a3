#include "analysis/names/symbolized.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/names/anonymous.h"
#include "analysis/names/script_files.h"
#include "analysis/names/script_facts.h"
#include "analysis/names/symbols_jit.h"
#include "analysis/names/symbols_section.h"
#include "base/compiler.h"
#include "hosted/arena.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "symbols/addr2line.h"

/* Where the names of a module come from; known once they were asked for. */
struct name_source {
	struct symbol_module *file;
	uint32_t section; /* its index in the recording's own names; RECORDING_NONE: not there */
	bool section_known;
};

struct symbolized {
	const struct recording *recording;
	struct symbolizer *symbolizer;
	struct symbolizer *own_symbolizer; /* NULL: the caller's is used */
	const struct plumbing *plumbing;   /* borrowed; NULL: the built-in list */
	const char *program;               /* struct naming's, as the next one */
	struct addr2line *addr2line;
	bool stored;
	struct symbols_section *section; /* NULL: the recording has no names */
	struct symbols_jit jit;
	bool jit_known;
	struct symbol own_symbol; /* result of the last look-up in jit, or of a script frame */
	bool has_scripts;
	struct script_facts scripts; /* imports NULL: not asked for yet, as the next one */
	uint8_t *script_parts;       /* script_files_parts() */
	struct arena arena;
	struct name_source *sources; /* for each module; the last is for frames in no module */
	struct frame_lines *frames;  /* for each frame; NULL: not looked up yet */
	uint32_t unnamed;            /* how many frames have no names yet */
	bool files_open;             /* the symbolizer may have files open */
};

void symbolized_destroy(struct symbolized *symbolized)
{
	if (!symbolized)
		return;
	symbolizer_destroy(symbolized->own_symbolizer);
	symbols_section_close(symbolized->section);
	symbols_jit_deinit(&symbolized->jit);
	arena_deinit(&symbolized->arena);
	script_facts_deinit(&symbolized->scripts);
	free(symbolized->script_parts);
	free(symbolized->sources);
	free(symbolized->frames);
	free(symbolized);
}

/* Opens the recording's own names. If they are damaged, names of this machine are used. */
static struct err *open_section(struct symbolized *symbolized)
{
	size_t size;
	// create_nameless() succeeded, so it is there.
	// NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
	const uint8_t *data = recording_symbols(symbolized->recording, &size);
	struct err *err = data ? symbols_section_open(data, size, &symbolized->section) : NULL;

	if (err && err_number(err) == ENOMEM)
		return err;
	err_destroy(err);
	return NULL;
}

/* Makes a struct without any names. */
static struct err *create_nameless(const struct recording *recording, struct symbolized **ret)
{
	cleanup(symbolized_destroy_at) struct symbolized *symbolized =
		calloc(1, sizeof(*symbolized));
	const struct recorded_module *list;
	uint32_t modules, frames;

	if (!symbolized)
		return err_no_memory();
	list = recording_modules(recording, &modules);
	recording_frames(recording, &frames);
	symbolized->recording = recording;
	symbolized->unnamed = frames;
	for (uint32_t i = 0; i < modules && !symbolized->has_scripts; i++)
		symbolized->has_scripts = recorded_module_is_script(&list[i]);
	symbolized->sources = calloc((size_t)modules + 1, sizeof(*symbolized->sources));
	symbolized->frames = calloc((size_t)frames + 1, sizeof(*symbolized->frames));
	if (!symbolized->sources || !symbolized->frames)
		return err_no_memory();
	*ret = steal(&symbolized);
	return NULL;
}

struct err *symbolized_create_named(const struct recording *recording,
				    const struct frame_lines *lines, struct symbolized **ret)
{
	struct err *err = create_nameless(recording, ret);
	uint32_t frames;

	recording_frames(recording, &frames);
	if (!err && frames)
		memcpy((*ret)->frames, lines, frames * sizeof(*lines));
	if (!err)
		(*ret)->unnamed = 0;
	return err;
}

struct err *symbolized_create(const struct recording *recording, const struct naming *naming,
			      struct symbolized **ret)
{
	cleanup(symbolized_destroy_at) struct symbolized *symbolized = NULL;
	struct symbolizer *symbolizer = naming ? naming->symbolizer : NULL;
	struct err *err = create_nameless(recording, &symbolized);

	if (err)
		return err;
	err = symbolizer ? NULL : symbolizer_create(&symbolized->own_symbolizer);
	if (!err)
		err = open_section(symbolized);
	if (err)
		return err;
	symbolized->symbolizer = symbolizer ? symbolizer : symbolized->own_symbolizer;
	symbolized->plumbing = naming ? naming->plumbing : NULL;
	symbolized->program = naming ? naming->program : NULL;
	symbolized->addr2line = naming ? naming->addr2line : NULL;
	symbolized->stored = naming && naming->stored;
	*ret = steal(&symbolized);
	return NULL;
}

const struct recording *symbolized_recording(const struct symbolized *symbolized)
{
	return symbolized->recording;
}

const char *symbolized_path(const struct symbolized *symbolized,
			    const struct recorded_module *module)
{
	return module->path[0] ? module->path : recording_facts(symbolized->recording)->program;
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

/*
 * The name of a pc that is no code, or is in no module: its address, minus 1 as for other frames.
 */
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
		return arena_format(&symbolized->arena, "0x%" PRIx64, pc - 1);
	}
}

/* Whether it is the program's own module: the one with the program's path, or without a path. */
static bool is_program(const struct symbolized *symbolized, const struct recorded_module *module)
{
	const char *program = recording_facts(symbolized->recording)->program;

	return !module->path[0] || strcmp(module->path, program) == 0;
}

/* Whether the recording has names or a note of a module. module NULL: code in no module. */
static bool is_in_section(const struct symbolized *symbolized, struct name_source *source,
			  const struct recorded_module *module)
{
	if (!symbolized->section)
		return false;
	if (!source->section_known) {
		source->section = symbols_section_module(
			symbolized->section, module ? symbolized_path(symbolized, module) : NULL,
			module ? module->build_id : NULL, module ? module->build_id_size : 0);
		source->section_known = true;
	}
	return source->section != RECORDING_NONE;
}

const char *symbolized_note(const struct symbolized *symbolized, uint32_t module)
{
	struct name_source *source = &symbolized->sources[module];
	const char *here = source->file ? symbol_module_note(source->file) : NULL, *recorded;
	bool named;

	if (!is_in_section(symbolized, source,
			   &recording_modules(symbolized->recording, &(uint32_t){0})[module]))
		return here;
	recorded = symbols_section_note(symbolized->section, source->section, &named);
	// Where all names come from a file of this machine, that is what counts.
	return recorded && (named || here || !source->file) ? recorded : here;
}

/* Looks into the names that the recording has. *count 0: it has none for that address. */
static struct err *find_in_section(struct symbolized *symbolized, struct name_source *source,
				   const struct recorded_module *module, uint64_t address,
				   const struct symbol **ret, size_t *count)
{
	*count = 0;
	if (address == SYMBOLS_NOTE || !is_in_section(symbolized, source, module))
		return NULL;
	return symbols_section_find(symbolized->section, source->section, address, ret, count);
}

static struct err *find_in_file(struct symbolized *symbolized, struct name_source *source,
				const struct recorded_module *module, uint64_t address,
				const struct symbol **ret, size_t *count)
{
	const char *path = symbolized_path(symbolized, module);
	struct err *err = NULL;

	if (symbolized->addr2line && is_program(symbolized, module))
		return addr2line_find(symbolized->addr2line, address, ret, count);
	if (symbolized->program && is_program(symbolized, module))
		path = symbolized->program;
	symbolized->files_open = true;
	if (!source->file) {
		symbolizer_set_machine(symbolized->symbolizer,
				       recording_facts(symbolized->recording)->machine);
		err = symbolizer_module(symbolized->symbolizer, path, module->build_id,
					module->build_id_size, &source->file);
	}
	return err ? err : symbol_module_find(source->file, address, ret, count);
}

/* Looks up code that is in no module. */
static struct err *find_jit(struct symbolized *symbolized, uint64_t address,
			    const struct symbol **ret, size_t *count)
{
	if (!symbolized->jit_known) {
		struct err *err = symbols_jit_init(&symbolized->jit, symbolized->recording);

		if (err)
			return err;
		symbolized->jit_known = true;
	}

	const struct perf_map_place *place = symbols_jit_find(&symbolized->jit, address);

	if (!place)
		return NULL;
	symbolized->own_symbol = (struct symbol){
		.raw_function = place->name,
		.offset = place->offset,
	};
	*ret = &symbolized->own_symbol;
	*count = 1;
	return NULL;
}

/* Looks up a frame that says its name itself. */
static void find_script(struct symbolized *symbolized, const struct recorded_frame *frame,
			const struct recorded_module *module, const struct symbol **ret,
			size_t *count)
{
	if (!frame->name)
		return;
	symbolized->own_symbol = (struct symbol){
		.raw_function = frame->name,
		.file = module->path,
		.line = frame->line,
	};
	*ret = &symbolized->own_symbol;
	*count = 1;
}

struct err *symbolized_symbols(struct symbolized *symbolized, uint32_t index,
			       const struct symbol **ret, size_t *ret_count)
{
	static const struct symbol unknown;
	uint32_t modules, frames;
	const struct recorded_frame *frame =
		&recording_frames(symbolized->recording, &frames)[index];
	const struct recorded_module *all = recording_modules(symbolized->recording, &modules);
	bool bare = frame->module == RECORDING_NONE;
	const struct recorded_module *module = bare ? NULL : &all[frame->module];
	struct name_source *source = &symbolized->sources[bare ? modules : frame->module];
	uint64_t address = frame->pc - 1 - (bare ? 0 : module->bias);
	const struct symbol *found = NULL;
	size_t count = 0;
	struct err *err = NULL;

	if (!bare || frame->pc > TRACE_PC_LAST_SPECIAL)
		err = find_in_section(symbolized, source, module, address, &found, &count);
	if (!err && !count && recorded_frame_is_script(frame))
		find_script(symbolized, frame, module, &found, &count);
	else if (!err && !count && !bare && !symbolized->stored)
		err = find_in_file(symbolized, source, module, address, &found, &count);
	if (!err && !count && bare && frame->pc > TRACE_PC_LAST_SPECIAL && !symbolized->stored)
		err = find_jit(symbolized, address, &found, &count);
	if (err)
		return err;
	*ret = count ? found : &unknown;
	*ret_count = count ? count : 1;
	return NULL;
}

/* *ret: the readable name of a symbol. */
static struct err *readable_name(struct symbolized *symbolized, bool bare, const char *raw,
				 const char **ret)
{
	// Names of code made at run time are readable already, unless they come from a C++ or Rust
	// compiler.
	if (bare && strncmp(raw, "_Z", 2) && strncmp(raw, "_R", 2)) {
		*ret = raw;
		return NULL;
	}
	return symbolizer_readable(symbolized->symbolizer, raw, ret);
}

/*
 * The name of a script's function as people say it: "outer.<locals>.inner" is outer.inner, and what
 * has no name of its own has that of the function that it stands in: Python's "f.<listcomp>", and
 * Ruby's "block (2 levels) in f".
 */
static const char *script_name(struct symbolized *symbolized, const char *raw, const char *module)
{
	static const char locals[] = ".<locals>";
	static const char *const nameless[] = {".<lambda>", ".<genexpr>", ".<listcomp>",
					       ".<dictcomp>", ".<setcomp>"};
	static const char *const parts_of_ruby[] = {"block in ", "block (", "rescue in ",
						    "ensure in "};
	const size_t length = strlen(locals);
	char *name, *at;

	// Of Python's own code for `import`, which has names that nobody knows.
	if (script_facts_is_machinery(module) &&
	    (strcmp(raw, "_find_and_load") == 0 || strcmp(raw, "_handle_fromlist") == 0))
		return "import";
	for (size_t i = 0; i < ARRAY_COUNT(parts_of_ruby);) {
		const char *in = strstr(raw, " in ");

		if (in && strncmp(raw, parts_of_ruby[i], strlen(parts_of_ruby[i])) == 0) {
			raw = in + 4;
			i = 0;
		} else {
			i++;
		}
	}
	name = at = arena_copy(&symbolized->arena, raw, strlen(raw));
	while (at && (at = strstr(at, locals)))
		memmove(at, at + length, strlen(at + length) + 1);
	for (size_t i = 0; name && i < ARRAY_COUNT(nameless);) {
		size_t size = strlen(name), end = strlen(nameless[i]);

		if (size <= end || strcmp(name + size - end, nameless[i]) != 0) {
			i++;
			continue;
		}
		name[size - end] = '\0';
		i = 0;
	}
	return name;
}

/* Sets the readable name of a line whose other members are set. module NULL: in no module. */
static struct err *fill_function(struct symbolized *symbolized,
				 const struct recorded_module *module, uint64_t pc,
				 struct named_frame *line)
{
	if (line->raw_function && line->script) {
		line->function = script_name(symbolized, line->raw_function, line->module);
		line->raw_function = line->function;
		return line->function ? NULL : err_no_memory();
	}
	if (line->raw_function) {
		struct err *err = module ? symbolizer_plain(symbolized->symbolizer,
							    line->raw_function, &line->raw_function)
					 : NULL;

		if (!err)
			err = readable_name(symbolized, !module, line->raw_function,
					    &line->function);
		// What has a type in it is C++'s or Rust's. Names of C have none.
		line->imported = !err && recording_facts(symbolized->recording)->imported &&
				 strpbrk(line->function, "(<:");
		return err;
	}
	if (module)
		line->function = arena_format(&symbolized->arena, "[%s]+0x%" PRIx64,
					      line->module_name, line->address - module->bias);
	else
		line->function = bare_name(symbolized, pc);
	return line->function ? NULL : err_no_memory();
}

/*
 * Whether it is not the reader's own code. A text that the program had compiled while it ran counts
 * for the line that runs it.
 */
static bool is_plumbing(const struct symbolized *symbolized, const struct named_frame *line)
{
	return plumbing_has(symbolized->plumbing, line) ||
	       (line->script && !symbolized->scripts.runs_string &&
		script_facts_is_string(line->module));
}

/* Fills a line. module NULL: in no module. */
static struct err *fill_line(struct symbolized *symbolized, const struct recorded_module *module,
			     uint64_t pc, const struct symbol *symbol, struct named_frame *line)
{
	struct err *err;

	line->address = !module && pc <= TRACE_PC_LAST_SPECIAL ? 0 : pc - 1;
	line->raw_function = symbol->raw_function;
	line->offset = symbol->raw_function ? symbol->offset + 1 : pc - (module ? module->bias : 0);
	line->has_symbol = symbol->raw_function;
	line->file = symbol->file;
	line->line = symbol->line;
	line->inlined = symbol->inlined;
	if (module) {
		line->module = symbolized_path(symbolized, module);
		line->module_name = file_name(line->module);
		line->in_program = is_program(symbolized, module);
		line->script = recorded_module_is_script(module) && pc & TRACE_PC_SCRIPT;
		line->beside_scripts = symbolized->has_scripts && !line->script;
		if (line->script) {
			uint32_t number =
				(uint32_t)(module - recording_modules(symbolized->recording, NULL));

			line->module_name =
				script_files_name(line->module, symbolized->script_parts[number]);
			line->offset = 0;
		}
	}
	err = fill_function(symbolized, module, pc, line);
	if (!err)
		line->plumbing = is_plumbing(symbolized, line);
	return err;
}

/* Fills the line of an import statement. function: the line of the function that it stands in. */
static struct err *fill_import(struct symbolized *symbolized, const char *module,
			       const struct named_frame *function, struct named_frame *line)
{
	*line = *function;
	line->import = line->inlined = true;
	line->function = line->raw_function = arena_format(&symbolized->arena, "import %s", module);
	if (!line->function)
		return err_no_memory();
	line->plumbing = is_plumbing(symbolized, line);
	return NULL;
}

/* Finds out what the recording as a whole tells of frames of scripts. */
static struct err *know_scripts(struct symbolized *symbolized)
{
	struct err *err = symbolized->script_parts ? NULL
						   : script_files_parts(symbolized->recording,
									&symbolized->script_parts);

	return err ? err
		   : script_facts_create(symbolized, &symbolized->arena, &symbolized->scripts);
}

static struct err *resolve_frame(struct symbolized *symbolized, uint32_t index,
				 struct frame_lines *ret)
{
	const struct recorded_frame *frame = &recording_frames(symbolized->recording, NULL)[index];
	const struct recorded_module *module =
		frame->module == RECORDING_NONE
			? NULL
			: &recording_modules(symbolized->recording, NULL)[frame->module];
	const struct symbol *symbols;
	struct named_frame *lines;
	const char *imported;
	size_t count, before;
	struct err *err = NULL;

	if (symbolized->has_scripts && !symbolized->scripts.imports)
		err = know_scripts(symbolized);
	imported = err || !symbolized->has_scripts ? NULL : symbolized->scripts.imports[index];
	if (!err)
		err = symbolized_symbols(symbolized, index, &symbols, &count);
	if (err)
		return err;
	before = imported ? 1 : 0;
	lines = arena_array(&symbolized->arena, before + count, sizeof(*lines));
	if (!lines)
		return err_no_memory();
	for (size_t i = 0; !err && i < count; i++)
		err = fill_line(symbolized, module, frame->pc, &symbols[i], &lines[before + i]);
	if (!err && imported)
		err = fill_import(symbolized, imported, &lines[before], &lines[0]);
	if (!err)
		*ret = (struct frame_lines){lines, before + count};
	return err;
}

struct err *symbolized_frame(struct symbolized *symbolized, uint32_t frame,
			     const struct named_frame **ret, size_t *count)
{
	struct frame_lines *lines = &symbolized->frames[frame];

	if (!lines->lines) {
		struct err *err = resolve_frame(symbolized, frame, lines);

		if (err)
			return err;
		symbolized->unnamed--;
	}
	*ret = lines->lines;
	*count = lines->count;
	return NULL;
}

static void close_files(struct symbolized *symbolized)
{
	uint32_t modules;

	recording_modules(symbolized->recording, &modules);
	for (uint32_t i = 0; i < modules; i++)
		symbolized->sources[i].file = NULL;
	symbolizer_close_modules(symbolized->symbolizer);
	symbolized->files_open = false;
}

/* *text: without its paths, in the arena; stays as it is if it has none, or is NULL. */
static struct err *hide_paths(struct symbolized *symbolized, const char **text)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	if (!*text || !strchr(*text, '/'))
		return NULL;
	anonymous_put(&buf, *text);
	if (!buf_string(&buf))
		return buf_finish(&buf);
	*text = arena_text(&symbolized->arena, buf.data);
	return *text ? NULL : err_no_memory();
}

static struct err *anonymize_line(struct symbolized *symbolized, struct named_frame *line)
{
	bool demangled = named_frame_is_demangled(line);
	struct err *err = hide_paths(symbolized, &line->function);

	if (line->raw_function && !demangled)
		line->raw_function = line->function;
	if (line->file)
		line->file = file_name(line->file);
	line->module = line->module_name;
	return err;
}

struct err *symbolized_anonymize(struct symbolized *symbolized)
{
	struct err *err = NULL;
	uint32_t frames;

	recording_frames(symbolized->recording, &frames);
	for (uint32_t i = 0; i < frames && !err; i++) {
		const struct named_frame *lines;
		size_t count = 0;

		err = symbolized_frame(symbolized, i, &lines, &count);
		// They lie in our arena; only what others see of them is constant.
		for (size_t line = 0; line < count && !err; line++)
			err = anonymize_line(symbolized, (struct named_frame *)&lines[line]);
	}
	return err;
}

struct err *symbolized_settle(struct symbolized *symbolized, uint32_t most)
{
	struct err *err = NULL;

	if (!symbolized->files_open || symbolized->unnamed > most)
		return NULL;
	for (uint32_t i = 0; !err && symbolized->unnamed; i++) {
		const struct named_frame *lines;
		size_t count;

		err = symbolized_frame(symbolized, i, &lines, &count);
	}
	if (!err)
		close_files(symbolized);
	return err;
}
