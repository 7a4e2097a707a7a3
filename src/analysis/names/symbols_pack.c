#include "analysis/names/symbols_pack.h"

#include <string.h>

#include "analysis/names/symbols_section.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "write/symbols_writer.h"

#define PROGRESS_STEP 1024

struct packed_position {
	uint32_t file;
	uint32_t frame;
	uint64_t address;
};

struct pack {
	struct symbolized *symbolized;
	enum anonymity anonymity;
	struct intern names;
	/*
	 * All modules of the recording with one path and build id are one file: one of them. NULL:
	 * of frames in no module.
	 */
	VEC(const struct recorded_module *) files;
	VEC(struct packed_position) positions;
	struct symbols_writer writer;
	recording_progress *progress;
	void *argument;
};

static void pack_deinit(struct pack *pack)
{
	intern_deinit(&pack->names);
	vec_deinit(&pack->files);
	vec_deinit(&pack->positions);
	symbols_writer_deinit(&pack->writer);
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

	if (!vec_push(&pack->files, NULL))
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		const char *key = key_of(pack, &modules[i]);
		uint64_t *file = key ? map_put(&known, (uintptr_t)key) : NULL;

		if (!file)
			return err_no_memory();
		if (*file == MAP_NONE) {
			*file = pack->files.count;
			if (!vec_push(&pack->files, &modules[i]))
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

/* *ret: the function's name as the recording may have it, which the pack keeps. */
static struct err *shown_function(struct pack *pack, const char *name, const char **ret)
{
	cleanup(buf_deinit) struct buf shown = BUF_EMPTY;

	*ret = NULL;
	if (!name)
		return NULL;
	anonymous_put_function(&shown, name, pack->anonymity);
	*ret = buf_string(&shown) ? intern_text(&pack->names, shown.data) : NULL;
	return *ret ? NULL : err_no_memory();
}

static struct err *put_position(struct pack *pack, uint64_t address, const struct symbol *symbols,
				size_t count)
{
	auto_free struct symbol *shown = NULL;
	struct err *err = NULL;

	if (pack->anonymity == ANONYMITY_NONE)
		return symbols_writer_position(&pack->writer, address, symbols, count);
	shown = calloc(count, sizeof(*shown));
	if (!shown)
		return err_no_memory();
	for (size_t i = 0; !err && i < count; i++) {
		shown[i] = symbols[i];
		shown[i].file = shown_path(pack, symbols[i].file);
		err = shown_function(pack, symbols[i].raw_function, &shown[i].raw_function);
	}
	return err ? err : symbols_writer_position(&pack->writer, address, shown, count);
}

/* Packs the positions of one file, from first on. *end: where the next file begins. */
static struct err *pack_file(struct pack *pack, size_t first, size_t *end)
{
	const struct packed_position *positions = pack->positions.items;
	const struct recorded_frame *frames =
		recording_frames(symbolized_recording(pack->symbolized), &(uint32_t){0});
	const struct recorded_module *module = pack->files.items[positions[first].file];
	const char *note = NULL, *found;
	size_t i;

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
			err = put_position(pack, positions[i].address, symbols, count);
		if (err)
			return err;
		found = module ? symbolized_note(pack->symbolized,
						 frames[positions[i].frame].module)
			       : NULL;
		note = found ? found : note;
	}
	*end = i;
	if (note && pack->anonymity == ANONYMITY_NONE) {
		const struct symbol symbol = {.raw_function = note};
		struct err *err = symbols_writer_position(&pack->writer, SYMBOLS_NOTE, &symbol, 1);

		if (err)
			return err;
	}
	return symbols_writer_module(
		&pack->writer,
		module ? shown_path(pack, symbolized_path(pack->symbolized, module)) : NULL,
		module ? module->build_id : NULL, module ? module->build_id_size : 0);
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

	symbols_writer_init(&pack.writer);
	err = collect_positions(&pack);
	for (size_t at = 0; !err && at < pack.positions.count;)
		err = pack_file(&pack, at, &at);
	return err ? err : symbols_writer_finish(&pack.writer, ret);
}
