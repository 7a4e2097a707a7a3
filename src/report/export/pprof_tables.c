#include "report/export/pprof_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/protobuf_writer.h"
#include "hosted/vec.h"
#include "report/words/style.h"

/* What the profile says about the places of a module. */
struct mapping {
	uint32_t id; /* 0: none yet */
	bool named, files, lines, inlined;
	uint64_t least, largest; /* of the addresses in it; of an import the module's are made up */
};

struct pprof_tables {
	struct symbolized *symbolized;
	struct buf *profile;
	struct buf message, line; /* being written */
	struct intern texts;
	struct map strings;   /* from the address of an interned text to its number */
	struct map functions; /* from an interned struct function_key to its number */
	uint32_t *located;    /* for each frame, the number of its location; 0: none yet */
	uint32_t location_count;
	struct mapping *mappings; /* for each module */
	VEC(uint32_t) modules;    /* for each number of a mapping, less 1 */
};

void pprof_tables_destroy(struct pprof_tables *tables)
{
	if (!tables)
		return;
	buf_deinit(&tables->message);
	buf_deinit(&tables->line);
	intern_deinit(&tables->texts);
	map_deinit(&tables->strings);
	map_deinit(&tables->functions);
	free(tables->located);
	free(tables->mappings);
	vec_deinit(&tables->modules);
	free(tables);
}
CLEANUP_DEFINE(struct pprof_tables *, pprof_tables_destroy);

/* *ret: the number of a module's mapping. */
static struct err *number_mapping(struct pprof_tables *tables, uint32_t module, uint32_t *ret)
{
	struct mapping *mapping = &tables->mappings[module];

	if (!mapping->id) {
		if (!vec_push(&tables->modules, module))
			return err_no_memory();
		mapping->id = (uint32_t)tables->modules.count;
	}
	*ret = mapping->id;
	return NULL;
}

/*
 * *ret: the module that is the program's own file; RECORDING_NONE: not known. The common stacks of
 * a diff belong to no process: there the names of frames tell, which are all there.
 */
static struct err *find_program(const struct pprof_tables *tables, uint32_t *ret)
{
	const struct recording *recording = symbolized_recording(tables->symbolized);
	const char *program = recording_facts(recording)->program;
	uint32_t module_count, frame_count;
	const struct recorded_module *modules = recording_modules(recording, &module_count);
	const struct recorded_frame *frames = recording_frames(recording, &frame_count);
	struct err *err = NULL;

	*ret = RECORDING_NONE;
	for (uint32_t i = 0; program && i < module_count && *ret == RECORDING_NONE; i++)
		if (strcmp(symbolized_path(tables->symbolized, &modules[i]), program) == 0)
			*ret = i;
	for (uint32_t i = 0; !program && !err && i < frame_count && *ret == RECORDING_NONE; i++) {
		const struct named_frame *lines;
		size_t count;

		err = symbolized_frame(tables->symbolized, i, &lines, &count);
		if (!err && lines->in_program)
			*ret = frames[i].module;
	}
	return err;
}

struct err *pprof_tables_create(struct symbolized *symbolized, struct buf *profile,
				struct pprof_tables **ret)
{
	cleanup(pprof_tables_destroy_at) struct pprof_tables *tables = calloc(1, sizeof(*tables));
	const struct recording *recording = symbolized_recording(symbolized);
	uint32_t frames, modules, program;
	struct err *err;

	if (!tables)
		return err_no_memory();
	recording_frames(recording, &frames);
	recording_modules(recording, &modules);
	tables->symbolized = symbolized;
	tables->profile = profile;
	buf_init(&tables->message);
	buf_init(&tables->line);
	tables->located = calloc((size_t)frames + 1, sizeof(*tables->located));
	tables->mappings = calloc((size_t)modules + 1, sizeof(*tables->mappings));
	if (!tables->located || !tables->mappings)
		return err_no_memory();
	err = find_program(tables, &program);
	if (!err && program != RECORDING_NONE)
		err = number_mapping(tables, program, &program);
	if (err)
		return err;
	protobuf_text(profile, PROFILE_STRING_TABLE, ""); // number 0
	*ret = steal(&tables);
	return NULL;
}

struct err *pprof_tables_string(struct pprof_tables *tables, const char *text, uint64_t *ret)
{
	cleanup(buf_deinit) struct buf safe = BUF_EMPTY;
	uint64_t *number;

	*ret = 0;
	if (!text || !*text)
		return NULL;
	text = intern_text(&tables->texts, text);
	number = text ? map_put(&tables->strings, (uintptr_t)text) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = tables->strings.count;
		style_safe_text(&safe, text, strlen(text)); // strings must be valid UTF-8
		protobuf_message(tables->profile, PROFILE_STRING_TABLE, &safe);
	}
	*ret = *number;
	return NULL;
}

/* What makes functions different: numbers of strings. */
struct function_key {
	uint64_t name, system_name, file;
};

static struct err *function(struct pprof_tables *tables, const struct named_frame *frame,
			    uint64_t *ret)
{
	struct function_key key = {0};
	const char *raw = frame->raw_function ? frame->raw_function : frame->function, *bytes;
	struct err *err = pprof_tables_string(tables, frame->function, &key.name);
	struct buf *message = &tables->message;
	uint64_t *number;

	if (!err)
		err = pprof_tables_string(tables, raw, &key.system_name);
	if (!err)
		err = pprof_tables_string(tables, frame->file, &key.file);
	if (err)
		return err;
	bytes = intern_bytes(&tables->texts, (const char *)&key, sizeof(key));
	number = bytes ? map_put(&tables->functions, (uintptr_t)bytes) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = tables->functions.count;
		protobuf_u64(message, FUNCTION_ID, *number);
		protobuf_u64(message, FUNCTION_NAME, key.name);
		protobuf_u64(message, FUNCTION_SYSTEM_NAME, key.system_name);
		protobuf_u64(message, FUNCTION_FILENAME, key.file);
		protobuf_message(tables->profile, PROFILE_FUNCTION, message);
	}
	*ret = *number;
	return NULL;
}

static void note_names(struct mapping *mapping, const struct named_frame *frames, size_t count)
{
	if (!mapping->largest || frames->address < mapping->least)
		mapping->least = frames->address;
	if (frames->address > mapping->largest)
		mapping->largest = frames->address;
	for (size_t i = 0; i < count; i++) {
		mapping->named |= frames[i].has_symbol;
		mapping->files |= frames[i].file != NULL;
		mapping->lines |= frames[i].line != 0;
		mapping->inlined |= frames[i].inlined;
	}
}

static struct err *put_line(struct pprof_tables *tables, struct buf *location,
			    const struct named_frame *frame)
{
	uint64_t number = 0;
	struct err *err = function(tables, frame, &number);

	if (err)
		return err;
	protobuf_u64(&tables->line, LINE_FUNCTION_ID, number);
	protobuf_u64(&tables->line, LINE_LINE, frame->line);
	protobuf_message(location, LOCATION_LINE, &tables->line);
	return NULL;
}

static struct err *put_location(struct pprof_tables *tables, uint32_t index)
{
	uint32_t module, mapping;
	const struct recording *recording = symbolized_recording(tables->symbolized);
	cleanup(buf_deinit) struct buf location = BUF_EMPTY;
	const struct named_frame *frames;
	size_t count;
	struct err *err = symbolized_frame(tables->symbolized, index, &frames, &count);

	if (err)
		return err;
	module = recording_frames(recording, NULL)[index].module;
	protobuf_u64(&location, LOCATION_ID, ++tables->location_count);
	tables->located[index] = tables->location_count;
	if (module != RECORDING_NONE && !frames->script) {
		err = number_mapping(tables, module, &mapping);
		if (err)
			return err;
		protobuf_u64(&location, LOCATION_MAPPING_ID, mapping);
		note_names(&tables->mappings[module], frames, count);
	}
	protobuf_u64(&location, LOCATION_ADDRESS, frames->address);
	// No made-up names: pprof looks up names itself, but only in a file that has none in the
	// profile.
	for (size_t i = 0; i < count && (frames[i].has_symbol || module == RECORDING_NONE); i++) {
		err = put_line(tables, &location, &frames[i]);
		if (err)
			return err;
	}
	protobuf_message(tables->profile, PROFILE_LOCATION, &location);
	return NULL;
}

struct err *pprof_tables_location(struct pprof_tables *tables, uint32_t frame, uint64_t *ret)
{
	struct err *err = NULL;

	if (!tables->located[frame])
		err = put_location(tables, frame);
	*ret = tables->located[frame];
	return err;
}

struct err *pprof_tables_word(struct pprof_tables *tables, const char *word, uint64_t *ret)
{
	const struct named_frame frame = {.function = word};
	cleanup(buf_deinit) struct buf location = BUF_EMPTY;
	struct err *err;

	*ret = ++tables->location_count;
	protobuf_u64(&location, LOCATION_ID, *ret);
	err = put_line(tables, &location, &frame);
	protobuf_message(tables->profile, PROFILE_LOCATION, &location);
	return err;
}

static struct err *put_mapping(struct pprof_tables *tables, const struct recorded_module *module,
			       const struct mapping *mapping)
{
	struct buf *message = &tables->message;
	char build_id[HEX_ROOM(64)];
	bool inside = mapping->least >= module->start && mapping->largest < module->end;
	uint64_t file, build;
	struct err *err;

	hex_put(build_id, module->build_id,
		module->build_id_size < 64 ? module->build_id_size : 64);
	err = pprof_tables_string(tables, symbolized_path(tables->symbolized, module), &file);
	if (!err)
		err = pprof_tables_string(tables, build_id, &build);
	if (err)
		return err;
	protobuf_u64(message, MAPPING_ID, mapping->id);
	protobuf_u64(message, MAPPING_START, inside ? module->start : mapping->least);
	protobuf_u64(message, MAPPING_LIMIT, inside ? module->end : mapping->largest + 1);
	protobuf_u64(message, MAPPING_FILENAME, file);
	protobuf_u64(message, MAPPING_BUILD_ID, build);
	protobuf_u64(message, MAPPING_HAS_FUNCTIONS, mapping->named);
	protobuf_u64(message, MAPPING_HAS_FILENAMES, mapping->files);
	protobuf_u64(message, MAPPING_HAS_LINE_NUMBERS, mapping->lines);
	protobuf_u64(message, MAPPING_HAS_INLINE_FRAMES, mapping->inlined);
	protobuf_message(tables->profile, PROFILE_MAPPING, message);
	return NULL;
}

struct err *pprof_tables_finish(struct pprof_tables *tables)
{
	const struct recording *recording = symbolized_recording(tables->symbolized);
	const struct recorded_module *modules = recording_modules(recording, NULL);
	struct err *err = NULL;

	for (size_t i = 0; i < tables->modules.count && !err; i++)
		err = put_mapping(tables, &modules[tables->modules.items[i]],
				  &tables->mappings[tables->modules.items[i]]);
	return err;
}
