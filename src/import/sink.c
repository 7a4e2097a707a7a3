#include "import/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/varint.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "trace/checksum.h"
#include "write/symbols_writer.h"

#define STREAM      0
#define MADE_UP_LOW 0x10000             /* addresses of frames that have none … */
#define MADE_UP     (UINT64_C(1) << 47) /* … lie between these */
#define MOST        (UINT64_C(1) << 56) /* bytes; no processor has more address bits */
#define TEXT_MAX    ((size_t)60 << 10)

/* A file that code is in: of frames with names, or of a script. */
struct sink_file {
	const char *path; /* NULL: none */
	uint32_t id;      /* of its module record */
	bool script;
};

/* A frame with names. */
struct sink_position {
	uint32_t file; /* index; 0: in none */
	uint64_t address;
	size_t first, count; /* in `symbols` */
};

struct import_sink {
	struct recording_file *file;
	struct trace_header header;
	uint64_t now;
	struct intern texts;
	VEC(struct sink_file) files;      /* [0]: none */
	struct map files_by_path;         /* from the address of a text, + 1 of a script */
	VEC(uint32_t) loaded;             /* module records of sink_module() … */
	VEC(struct sink_place) places;    /* … and their places, without build ids */
	uint32_t modules, frames, stacks; /* how many there are so far */
	VEC(struct sink_position) positions;
	VEC(struct symbol) symbols;
	struct map frames_by_key; /* from the address of an interned key */
	struct buf key;           /* of the frame that is looked up */
	struct buf packed;        /* the stack that is written */
	bool aggregate, has_program;
	uint64_t sum_time;              /* of the last sum */
	uint64_t totals[TRACE_SUMS];    /* of the present moment */
	struct err *failure;            /* the first; sink_end() returns it */
	const struct import_text *text; /* of the file that is read, for messages */
};

void sink_destroy(struct import_sink *sink)
{
	if (!sink)
		return;
	recording_file_close(sink->file);
	err_destroy(sink->failure);
	intern_deinit(&sink->texts);
	vec_deinit(&sink->files);
	map_deinit(&sink->files_by_path);
	vec_deinit(&sink->loaded);
	vec_deinit(&sink->places);
	vec_deinit(&sink->positions);
	vec_deinit(&sink->symbols);
	map_deinit(&sink->frames_by_key);
	buf_deinit(&sink->key);
	buf_deinit(&sink->packed);
	free(sink);
}

struct err *sink_create(int fd, struct import_sink **ret)
{
	cleanup(sink_destroy_at) struct import_sink *sink = calloc(1, sizeof(*sink));
	struct err *err;

	if (!sink) {
		close(fd);
		return err_no_memory();
	}
	buf_init(&sink->key);
	buf_init(&sink->packed);
	sink->header.pointer_size = 8;
	err = recording_file_adopt(fd, &sink->header, NULL, &sink->file);
	if (err)
		return err;
	if (!vec_push(&sink->files, (struct sink_file){0}))
		return err_no_memory();
	recording_file_add_stream(sink->file, 0);
	*ret = steal(&sink);
	return NULL;
}

static void put_fact(struct import_sink *sink, enum trace_record kind, bool timed,
		     const uint64_t *fields, size_t count, struct span text)
{
	const struct recording_fact fact = {
		.kind = kind,
		.has_time = timed,
		.ticks = sink->now,
		.fields = fields,
		.count = count,
		.text = text.data,
		.size = text.size < TEXT_MAX ? text.size : TEXT_MAX,
	};

	recording_file_fact(sink->file, STREAM, &fact);
}

static void put_process(struct import_sink *sink, enum trace_process_field field, struct span text)
{
	put_fact(sink, TRACE_RECORD_PROCESS, false, (const uint64_t[]){field}, 1, text);
}

void sink_program(struct import_sink *sink, struct span path)
{
	put_process(sink, TRACE_PROCESS_EXECUTABLE, path);
	sink->has_program = true;
}

void sink_guess_program(struct import_sink *sink, struct span path)
{
	if (!sink->has_program)
		sink_program(sink, path);
}

struct err *sink_command(struct import_sink *sink, struct span command)
{
	auto_free char *words = malloc(command.size + 1);
	size_t size = 0;

	if (!words)
		return err_no_memory();
	for (size_t i = 0; i < command.size; i++)
		if (command.data[i] != ' ')
			words[size++] = command.data[i];
		else if (size && words[size - 1])
			words[size++] = '\0';
	words[size] = '\0';
	put_process(sink, TRACE_PROCESS_ARGUMENTS, (struct span){words, size + 1});
	return NULL;
}

void sink_pid(struct import_sink *sink, uint32_t pid)
{
	sink->header.pid = pid;
}

void sink_started(struct import_sink *sink, uint64_t realtime_ns)
{
	sink->header.start_realtime_ns = realtime_ns;
}

void sink_begun_before(struct import_sink *sink)
{
	sink->header.flags |= TRACE_BEGUN_BY_START;
}

struct err *sink_text(struct import_sink *sink, struct span text, const char **ret)
{
	*ret = text.size ? intern_bytes(&sink->texts, text.data, text.size) : NULL;
	return text.size && !*ret ? err_no_memory() : NULL;
}

static void put_module(struct import_sink *sink, uint32_t id, struct span path,
		       const struct sink_place *place)
{
	const uint64_t fields[] = {id,           id,         place->bias,
				   place->start, place->end, place->build_id_size};

	buf_put(&sink->packed, place->build_id, place->build_id_size);
	buf_put(&sink->packed, path.data, path.size);
	put_fact(sink, TRACE_RECORD_MODULE, true, fields, ARRAY_COUNT(fields),
		 (struct span){sink->packed.data, sink->packed.size});
	sink->packed.size = 0;
}

struct err *sink_module(struct import_sink *sink, struct span path, const struct sink_place *place)
{
	// The dumps of one process have the same files, each of them: they are one.
	for (size_t i = 0; i < sink->places.count; i++)
		if (sink->places.items[i].bias == place->bias &&
		    sink->places.items[i].start == place->start &&
		    sink->places.items[i].end == place->end)
			return NULL;
	if (!vec_push(&sink->places, *place))
		return err_no_memory();
	put_module(sink, ++sink->modules, path, place);
	return vec_push(&sink->loaded, sink->modules) ? NULL : err_no_memory();
}

void sink_forget_modules(struct import_sink *sink)
{
	for (size_t i = 0; i < sink->loaded.count; i++)
		put_fact(sink, TRACE_RECORD_MODULE_GONE, true,
			 (const uint64_t[]){sink->loaded.items[i]}, 1, (struct span){0});
	sink->loaded.count = sink->places.count = 0;
}

/* *ret: the index of a file. Where it lay is not known. */
static struct err *file_of(struct import_sink *sink, const char *path, bool script, uint32_t *ret)
{
	// A place where nothing is looked up: frames name their module.
	const struct sink_place place = {.start = !script, .end = script ? 0 : 2};
	uint64_t *known;

	*ret = 0;
	if (!path)
		return NULL;
	known = map_put(&sink->files_by_path, (uintptr_t)path + script);
	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		*known = sink->files.count;
		if (!vec_push(&sink->files, (struct sink_file){path, ++sink->modules, script}))
			return err_no_memory();
		put_module(sink, sink->modules, span_of(path), &place);
	}
	*ret = (uint32_t)*known;
	return NULL;
}

/* *ret: the frame with that key; 0: it is new, and the caller sets it. */
static struct err *find_frame(struct import_sink *sink, uint64_t **ret)
{
	const char *key = sink->key.failure
				  ? NULL
				  : intern_bytes(&sink->texts, sink->key.data, sink->key.size);

	sink->key.size = 0;
	*ret = key ? map_put(&sink->frames_by_key, (uintptr_t)key) : NULL;
	if (!*ret)
		return err_no_memory();
	if (**ret == MAP_NONE)
		**ret = 0;
	return NULL;
}

static void put_text_key(struct import_sink *sink, const char *text)
{
	if (text)
		buf_text(&sink->key, text);
	buf_char(&sink->key, '\0');
}

/*
 * An address for a frame of which only names are known. It is made of them: so that it is the same
 * in another file, with which this one may be compared.
 */
static uint64_t made_up(const struct buf *key)
{
	return trace_checksum(key->data, key->size, NULL, 0) % (MADE_UP - MADE_UP_LOW) +
	       MADE_UP_LOW;
}

static uint32_t put_frame(struct import_sink *sink, uint64_t pc, uint32_t file)
{
	const uint64_t fields[] = {++sink->frames, pc, sink->files.items[file].id};

	put_fact(sink, TRACE_RECORD_FRAME, false, fields, ARRAY_COUNT(fields), (struct span){0});
	return sink->frames;
}

static struct err *keep_symbols(struct import_sink *sink, uint32_t file, uint64_t address,
				const struct symbol *symbols, size_t count)
{
	const struct sink_position position = {file, address, sink->symbols.count, count};

	if (!vec_reserve(&sink->symbols, count) || !vec_push(&sink->positions, position))
		return err_no_memory();
	memcpy(sink->symbols.items + sink->symbols.count, symbols, count * sizeof(*symbols));
	sink->symbols.count += count;
	return NULL;
}

struct err *sink_named(struct import_sink *sink, const char *file, const struct symbol *symbols,
		       size_t count, uint32_t *ret)
{
	uint32_t index = 0;
	uint64_t *known, address;
	struct err *err = file_of(sink, file, false, &index);

	if (err)
		return err;
	put_text_key(sink, file);
	for (size_t i = 0; i < count; i++) {
		put_text_key(sink, symbols[i].raw_function);
		put_text_key(sink, symbols[i].file);
		buf_varint(&sink->key, (uint64_t)symbols[i].line << 1 | symbols[i].inlined);
	}
	address = sink->key.failure ? 0 : made_up(&sink->key);
	err = find_frame(sink, &known);
	if (!err && !*known) {
		*known = put_frame(sink, address + 1, index);
		err = keep_symbols(sink, index, address, symbols, count);
	}
	if (!err)
		*ret = (uint32_t)*known;
	return err;
}

struct err *sink_nameless(struct import_sink *sink, const char *file, uint64_t address,
			  uint32_t *ret)
{
	uint32_t index = 0;
	uint64_t *known;
	struct err *err = file_of(sink, file, false, &index);

	if (err)
		return err;
	buf_varint(&sink->key, index);
	buf_varint(&sink->key, address);
	err = find_frame(sink, &known);
	if (err)
		return err;
	if (!*known)
		*known = put_frame(sink, address + 1, index);
	*ret = (uint32_t)*known;
	return NULL;
}

struct err *sink_script(struct import_sink *sink, const char *function, const char *file,
			uint32_t line, uint32_t *ret)
{
	uint32_t index = 0;
	uint64_t *known, pc;
	struct err *err = file_of(sink, file, true, &index);

	if (err)
		return err;
	put_text_key(sink, file);
	put_text_key(sink, function);
	buf_varint(&sink->key, line);
	pc = sink->key.failure ? 0 : made_up(&sink->key) | TRACE_PC_SCRIPT;
	err = find_frame(sink, &known);
	if (err)
		return err;
	if (!*known) {
		const uint64_t fields[] = {++sink->frames, pc, sink->files.items[index].id,
					   TRACE_FRAME_SCRIPT, line};

		put_fact(sink, TRACE_RECORD_FRAME, false, fields, ARRAY_COUNT(fields),
			 span_of(function ? function : ""));
		*known = sink->frames;
	}
	*ret = (uint32_t)*known;
	return NULL;
}

void sink_time(struct import_sink *sink, uint64_t ns)
{
	if (ns > sink->now)
		sink->now = ns;
}

void sink_time_next(struct import_sink *sink, uint64_t ns)
{
	sink_time(sink, ns);
	if (sink->aggregate && sink->now == sink->sum_time)
		sink->now++;
}

void sink_resident(struct import_sink *sink, uint64_t bytes)
{
	put_fact(sink, TRACE_RECORD_MEMORY, true, (const uint64_t[]){0, bytes, 0, 0, 0, 0}, 6,
		 (struct span){0});
}

/* Leaves out the outermost frames of a stack that is too deep. */
static const struct record_frame *bound(const struct record_frame *stack, size_t *frames)
{
	size_t over = *frames > SINK_DEPTH_MAX ? *frames - SINK_DEPTH_MAX : 0;

	*frames -= over;
	return stack + over;
}

static struct err *too_large(const struct import_sink *sink, uint64_t value)
{
	const struct import_text *text = sink->text;

	return err_create("%s: line %" PRIu64 ": %" PRIu64 " is more than a program can have",
			  text->name, text->line, value);
}

void sink_allocate(struct import_sink *sink, uint64_t address, uint64_t size,
		   const struct record_frame *stack, size_t frames)
{
	const struct trace_event event = {
		.operation = TRACE_OP_MALLOC,
		.ticks = sink->now,
		.address = address,
		.size = size,
	};

	if (size > MOST && !sink->failure)
		sink->failure = too_large(sink, size);
	stack = bound(stack, &frames);
	recording_file_event(sink->file, STREAM, &event, stack, (uint32_t)frames);
}

void sink_free(struct import_sink *sink, uint64_t address)
{
	const struct trace_event event = {
		.operation = TRACE_OP_FREE,
		.ticks = sink->now,
		.address = address,
	};

	recording_file_event(sink->file, STREAM, &event, NULL, 0);
}

/* Writes a stack record. Its number is then sink->stacks. */
static void put_stack(struct import_sink *sink, const struct record_frame *stack, size_t frames)
{
	const uint64_t fields[] = {++sink->stacks, 0};

	stack = bound(stack, &frames);
	for (size_t i = 0; i < frames; i++) {
		buf_varint(&sink->packed, stack[i].id);
		if (!stack[i].id)
			buf_varint(&sink->packed, stack[i].pc);
	}
	put_fact(sink, TRACE_RECORD_STACK, true, fields, ARRAY_COUNT(fields),
		 (struct span){sink->packed.data, sink->packed.size});
	sink->packed.size = 0;
}

struct err *sink_sum(struct import_sink *sink, const struct record_frame *stack, size_t frames,
		     const struct sink_sum *sum)
{
	uint64_t fields[2 + TRACE_SUMS] = {0, sum->known};
	size_t count = 2;

	if (sink->now != sink->sum_time)
		memset(sink->totals, 0, sizeof(sink->totals));
	for (size_t i = 0; i < TRACE_SUMS; i++) {
		if (sum->values[i] > MOST || sink->totals[i] + sum->values[i] > MOST)
			return too_large(sink, sum->values[i]);
		sink->totals[i] += sum->values[i];
	}

	if (stack && frames) {
		put_stack(sink, stack, frames);
		fields[0] = sink->stacks;
	}
	for (size_t i = 0; i < TRACE_SUMS; i++)
		if (sum->known >> i & 1)
			fields[count++] = sum->values[i];
	put_fact(sink, TRACE_RECORD_SUM, true, fields, count, (struct span){0});
	sink->aggregate = true;
	sink->sum_time = sink->now;
	return buf_finish(&sink->packed);
}

void sink_reads(struct import_sink *sink, const struct import_text *text)
{
	sink->text = text;
}

bool sink_is_aggregate(const struct import_sink *sink)
{
	return sink->aggregate;
}

static int compare_positions(const void *left, const void *right)
{
	const struct sink_position *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Writes the names of all frames that have some. */
static struct err *put_symbols(struct import_sink *sink)
{
	cleanup(symbols_writer_deinit) struct symbols_writer writer = {0};
	cleanup(buf_deinit) struct buf payload = BUF_EMPTY;
	const struct sink_position *positions = sink->positions.items;
	struct err *err = NULL;

	symbols_writer_init(&writer);
	if (sink->positions.count)
		qsort(sink->positions.items, sink->positions.count, sizeof(*positions),
		      compare_positions);
	for (size_t i = 0; !err && i < sink->positions.count; i++) {
		bool last = i + 1 == sink->positions.count ||
			    positions[i + 1].file != positions[i].file;

		// Two frames with one made up address: the first one's names.
		if (!i || positions[i - 1].file != positions[i].file ||
		    positions[i - 1].address != positions[i].address)
			err = symbols_writer_position(&writer, positions[i].address,
						      sink->symbols.items + positions[i].first,
						      positions[i].count);
		if (!err && last)
			err = symbols_writer_module(
				&writer, sink->files.items[positions[i].file].path, NULL, 0);
	}
	if (!err)
		err = symbols_writer_finish(&writer, &payload);
	if (!err && payload.size)
		recording_file_add_chunk(sink->file, TRACE_CHUNK_SYMBOLS, payload.data,
					 payload.size);
	return err;
}

struct err *sink_end(struct import_sink *sink, const char *origin, bool at_end)
{
	struct err *err = put_symbols(sink);

	if (!err)
		err = steal(&sink->failure);
	if (err)
		return err;
	put_process(sink, TRACE_PROCESS_AGENT, span_of(origin));
	sink->header.flags |= TRACE_IMPORTED | (sink->aggregate ? TRACE_AGGREGATE : 0);
	recording_file_amend(sink->file, &sink->header);
	return recording_file_end(sink->file, sink->now,
				  at_end ? TRACE_END_UNKNOWN : TRACE_END_DETACHED, 0);
}
