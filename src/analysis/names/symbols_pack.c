#include "analysis/names/symbols_pack.h"

#include <string.h>

#include "analysis/names/symbols_section.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"

#define PROGRESS_STEP 1024

/*
 * A file: all modules of the recording with one path and build id. module NULL: frames in no
 * module.
 */
struct packed_file {
	const struct recorded_module *module;
	size_t count; /* how many positions are written */
};

struct packed_position {
	uint32_t file;
	uint32_t frame;
	uint64_t address;
};

struct pack {
	struct symbolized *symbolized;
	enum anonymity anonymity;
	struct intern names;
	struct map numbers; /* from the address of an interned name to its number, from 1 */
	VEC(struct packed_file) files;
	VEC(struct packed_position) positions;
	struct buf strings; /* the table of strings, as it is written */
	struct buf modules; /* all modules */
	struct buf module;  /* the positions of the module being written */
	uint64_t module_count;
	recording_progress *progress;
	void *argument;
};

static void pack_deinit(struct pack *pack)
{
	intern_deinit(&pack->names);
	map_deinit(&pack->numbers);
	vec_deinit(&pack->files);
	vec_deinit(&pack->positions);
	buf_deinit(&pack->strings);
	buf_deinit(&pack->modules);
	buf_deinit(&pack->module);
}

/* *ret: the number of a string; 0: NULL. */
static struct err *number_of(struct pack *pack, const char *text, uint64_t *ret)
{
	const char *known;
	uint64_t *number;

	*ret = 0;
	if (!text)
		return NULL;
	known = intern_text(&pack->names, text);
	number = known ? map_put(&pack->numbers, (uintptr_t)known) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = pack->numbers.count;
		buf_put(&pack->strings, known, strlen(known) + 1);
	}
	*ret = *number;
	return NULL;
}

/* The number of a function's name, or of a file's, as the recording may have it. */
static struct err *number_of_function(struct pack *pack, const char *name, uint64_t *ret)
{
	cleanup(buf_deinit) struct buf shown = BUF_EMPTY;

	if (!name || pack->anonymity == ANONYMITY_NONE)
		return number_of(pack, name, ret);
	anonymous_put_function(&shown, name, pack->anonymity);
	return buf_string(&shown) ? number_of(pack, shown.data, ret) : err_no_memory();
}

static const char *shown_path(const struct pack *pack, const char *path)
{
	return path && pack->anonymity != ANONYMITY_NONE ? file_name(path) : path;
}

/* The key of a file: path and build id. NULL: no memory. */
static const char *key_of(struct pack *pack, const struct recorded_module *module)
{
	cleanup(buf_deinit) struct buf key = BUF_EMPTY;
	const char *path = shown_path(pack, symbolized_path(pack->symbolized, module));

	buf_put(&key, path, strlen(path) + 1);
	buf_put(&key, module->build_id, module->build_id_size);
	return buf_string(&key) ? intern_bytes(&pack->names, key.data, key.size) : NULL;
}

/* file_of: for each module of the recording, its file. File 0 is for frames in no module. */
static struct err *collect_files(struct pack *pack, uint32_t *file_of)
{
	cleanup(map_deinit) struct map known = {0};
	uint32_t count;
	const struct recorded_module *modules =
		recording_modules(symbolized_recording(pack->symbolized), &count);

	if (!vec_push(&pack->files, (struct packed_file){0}))
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		const char *key = key_of(pack, &modules[i]);
		uint64_t *file = key ? map_put(&known, (uintptr_t)key) : NULL;

		if (!file)
			return err_no_memory();
		if (*file == MAP_NONE) {
			*file = pack->files.count;
			if (!vec_push(&pack->files, (struct packed_file){.module = &modules[i]}))
				return err_no_memory();
		}
		file_of[i] = (uint32_t)*file;
	}
	return NULL;
}

static int compare_positions(const void *a, const void *b)
{
	const struct packed_position *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static struct err *collect_positions(struct pack *pack)
{
	const struct recording *recording = symbolized_recording(pack->symbolized);
	uint32_t module_count, count;
	const struct recorded_module *modules = recording_modules(recording, &module_count);
	const struct recorded_frame *frames = recording_frames(recording, &count);
	auto_free uint32_t *file_of = calloc((size_t)module_count + 1, sizeof(*file_of));

	if (!file_of || !vec_reserve(&pack->positions, count))
		return err_no_memory();

	struct err *err = collect_files(pack, file_of);

	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t module = frames[i].module;
		bool bare = module == RECORDING_NONE;
		uint64_t address = frames[i].pc - 1 - (bare ? 0 : modules[module].bias);

		if ((bare && frames[i].pc <= TRACE_PC_LAST_SPECIAL) || address == SYMBOLS_NOTE)
			continue;
		pack->positions.items[pack->positions.count++] = (struct packed_position){
			.file = bare ? 0 : file_of[module],
			.frame = i,
			.address = address,
		};
	}
	if (pack->positions.count)
		qsort(pack->positions.items, pack->positions.count, sizeof(*pack->positions.items),
		      compare_positions);
	return NULL;
}

static bool has_names(const struct symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (symbols[i].raw_function || symbols[i].file)
			return true;
	}
	return false;
}

static struct err *put_symbols(struct pack *pack, const struct symbol *symbols, size_t count)
{
	struct buf *buf = &pack->module;

	buf_varint(buf, symbols[0].offset);
	buf_varint(buf, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t function, file;
		struct err *err = number_of_function(pack, symbols[i].raw_function, &function);

		if (!err)
			err = number_of(pack, shown_path(pack, symbols[i].file), &file);
		if (err)
			return err;
		buf_varint(buf, function);
		buf_varint(buf, file << 1 | symbols[i].inlined);
		if (file)
			buf_varint(buf, symbols[i].line);
	}
	return NULL;
}

/* Appends a file's collected positions to the modules before it. */
static struct err *put_module(struct pack *pack, const struct packed_file *file)
{
	struct buf *buf = &pack->modules;
	const struct recorded_module *module = file->module;
	uint64_t path = 0;

	if (module) {
		const char *shown = shown_path(pack, symbolized_path(pack->symbolized, module));
		struct err *err = number_of(pack, shown, &path);

		if (err)
			return err;
	}
	buf_varint(buf, module ? SYMBOLS_FILE : SYMBOLS_NO_MODULE);
	buf_varint(buf, path);
	buf_varint(buf, module ? module->build_id_size : 0);
	if (module)
		buf_put(buf, module->build_id, module->build_id_size);
	buf_varint(buf, file->count);
	buf_put(buf, pack->module.data, pack->module.size);
	pack->module_count++;
	return buf_finish(&pack->module);
}

/* Appends a position to those of its file. last: the one before. */
static struct err *put_position(struct pack *pack, struct packed_file *file, uint64_t address,
				uint64_t *last, const struct symbol *symbols, size_t count)
{
	buf_varint(&pack->module, address - *last);
	*last = address;
	file->count++;
	return put_symbols(pack, symbols, count);
}

/* Packs the positions of one file, from first on. *end: where the next file begins. */
static struct err *pack_file(struct pack *pack, size_t first, size_t *end)
{
	const struct packed_position *positions = pack->positions.items;
	const struct recorded_frame *frames =
		recording_frames(symbolized_recording(pack->symbolized), &(uint32_t){0});
	struct packed_file *file = &pack->files.items[positions[first].file];
	const char *note = NULL, *found;
	uint64_t last = 0;
	size_t i;

	pack->module.size = 0;
	for (i = first; i < pack->positions.count && positions[i].file == positions[first].file;
	     i++) {
		const struct symbol *symbols;
		size_t count;
		struct err *err;

		if (pack->progress && i % PROGRESS_STEP == 0)
			pack->progress(pack->argument, i, pack->positions.count);
		// The same place in a library that was loaded twice.
		if (i > first && positions[i].address == positions[i - 1].address)
			continue;
		err = symbolized_symbols(pack->symbolized, positions[i].frame, &symbols, &count);
		if (!err && has_names(symbols, count))
			err = put_position(pack, file, positions[i].address, &last, symbols, count);
		if (err)
			return err;
		found = file->module ? symbolized_note(pack->symbolized,
						       frames[positions[i].frame].module)
				     : NULL;
		note = found ? found : note;
	}
	*end = i;
	if (note && pack->anonymity == ANONYMITY_NONE) {
		const struct symbol symbol = {.raw_function = note};
		struct err *err = put_position(pack, file, SYMBOLS_NOTE, &last, &symbol, 1);

		if (err)
			return err;
	}
	return file->count ? put_module(pack, file) : NULL;
}

static struct err *put_all(const struct pack *pack, struct buf *ret)
{
	if (!pack->module_count)
		return NULL;
	buf_varint(ret, SYMBOLS_VERSION);
	buf_varint(ret, pack->numbers.count);
	buf_varint(ret, pack->strings.size);
	buf_put(ret, pack->strings.data, pack->strings.size);
	buf_varint(ret, pack->module_count);
	buf_put(ret, pack->modules.data, pack->modules.size);
	return buf_finish(ret);
}

struct err *symbols_pack(struct symbolized *symbolized, recording_progress *progress,
			 void *argument, struct buf *ret)
{
	return symbols_pack_anonymous(symbolized, ANONYMITY_NONE, progress, argument, ret);
}

struct err *symbols_pack_anonymous(struct symbolized *symbolized, enum anonymity anonymity,
				   recording_progress *progress, void *argument, struct buf *ret)
{
	cleanup(pack_deinit) struct pack pack = {
		.symbolized = symbolized,
		.anonymity = anonymity,
		.progress = progress,
		.argument = argument,
	};
	struct err *err;

	buf_init(&pack.strings);
	buf_init(&pack.modules);
	buf_init(&pack.module);
	err = collect_positions(&pack);
	for (size_t at = 0; !err && at < pack.positions.count;)
		err = pack_file(&pack, at, &at);
	if (!err)
		err = buf_finish(&pack.strings);
	if (!err)
		err = buf_finish(&pack.modules);
	return err ? err : put_all(&pack, ret);
}
