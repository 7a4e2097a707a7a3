#include "report/export/dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/load/stream_cursor.h"
#include "analysis/load/tick_clock.h"
#include "analysis/recording_source.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "report/export/dump_event.h"
#include "report/words/style.h"
#include "trace/chunk_check.h"
#include "trace/decode.h"

struct dump_module {
	uint64_t id;
	uint64_t bias;
	char *name; /* the last part of the path, owned */
};

struct dump_frame {
	uint64_t pc;
	uint64_t module; /* id */
	bool guess;      /* its caller is one */
};

/* The frames and modules that a recording defines: for `trace dump --stacks`. */
struct dump_names {
	VEC(struct dump_module) modules;
	VEC(struct dump_frame) frames;
	struct map frame_by_id;  /* values: indices of frames */
	struct map module_by_id; /* values: indices of modules */
};

static void dump_names_deinit(struct dump_names *names)
{
	for (size_t i = 0; i < names->modules.count; i++)
		free(names->modules.items[i].name);
	vec_deinit(&names->modules);
	vec_deinit(&names->frames);
	map_deinit(&names->frame_by_id);
	map_deinit(&names->module_by_id);
}

static struct err *note_module(struct dump_names *names, const struct decode_event *event)
{
	const struct decode_text *path = &event->module.path;
	const char *slash = path->size ? memrchr(path->data, '/', path->size) : NULL;
	const char *name = slash ? slash + 1 : path->data;
	struct dump_module module = {.id = event->module.id, .bias = event->module.bias};
	uint64_t *place;

	module.name =
		path->size ? strndup(name, (size_t)(path->data + path->size - name)) : strdup("");
	if (!module.name)
		return err_no_memory();
	if (!vec_push(&names->modules, module)) {
		free(module.name);
		return err_no_memory();
	}
	place = map_put(&names->module_by_id, module.id);
	if (!place)
		return err_no_memory();
	*place = names->modules.count - 1;
	return NULL;
}

static struct err *note_frame(struct dump_names *names, const struct decode_event *event)
{
	uint64_t *place;

	if (!vec_push(&names->frames, (struct dump_frame){event->frame.pc, event->frame.module,
							  event->frame.flags & TRACE_FRAME_GUESS}))
		return err_no_memory();
	place = map_put(&names->frame_by_id, event->frame.id);
	if (!place)
		return err_no_memory();
	*place = names->frames.count - 1;
	return NULL;
}

/* Takes note of a frame or module record; ignores others. */
static struct err *dump_names_note(struct dump_names *names, const struct decode_event *event)
{
	if (event->kind == TRACE_RECORD_MODULE)
		return note_module(names, event);
	if (event->kind == TRACE_RECORD_FRAME)
		return note_frame(names, event);
	return NULL;
}

static const struct dump_frame *find_frame(const struct dump_names *names,
					   const struct decode_frame *frame)
{
	uint64_t at = frame->id ? map_get(&names->frame_by_id, frame->id) : MAP_NONE;

	return at == MAP_NONE ? NULL : &names->frames.items[at];
}

/* The frame's pc; 0: its id is not defined. */
static uint64_t dump_names_pc(const struct dump_names *names, const struct decode_frame *frame)
{
	const struct dump_frame *found = find_frame(names, frame);

	return found ? found->pc : frame->pc;
}

/* Writes "libc.so.6+0x1234"; "0x7f…" if no module is known; or what a special pc means. */
static void dump_names_put(struct buf *buf, const struct dump_names *names,
			   const struct decode_frame *frame)
{
	const struct dump_frame *found = find_frame(names, frame);
	uint64_t pc = dump_names_pc(names, frame);
	uint64_t at =
		found && found->module ? map_get(&names->module_by_id, found->module) : MAP_NONE;

	if (frame->id && !found) {
		buf_printf(buf, "[undefined frame %" PRIu64 "]", frame->id);
	} else if (pc == TRACE_PC_TRUNCATED) {
		buf_text(buf, "[cut at DEPTH]");
	} else if (pc == TRACE_PC_BROKEN) {
		buf_text(buf, "[frames outside not found]");
	} else if (pc == TRACE_PC_LOST) {
		buf_text(buf, "[lost]");
	} else if (at == MAP_NONE) {
		buf_printf(buf, "0x%" PRIx64, pc);
	} else {
		const struct dump_module *module = &names->modules.items[at];

		style_safe_text(buf, module->name, strlen(module->name));
		buf_printf(buf, "+0x%" PRIx64, pc - module->bias);
	}
	if (found && found->guess)
		buf_text(buf, " caller=guessed");
}

struct dump {
	struct buf *buf;
	bool stacks;
	struct recording_source source;
	struct trace_header header;
	struct damage damage;
	struct chunk_index index;
	struct tick_clock clock;
	struct dump_names names;
	struct stream_cursor *cursors;
	uint32_t cursor_count;
	uint32_t *heap; /* a heap of cursors that have a record, the earliest first */
	uint32_t heap_count;
};

static void close_cursors(struct dump *dump)
{
	for (uint32_t i = 0; i < dump->cursor_count; i++)
		stream_cursor_deinit(&dump->cursors[i]);
	free(dump->cursors);
	free(dump->heap);
	dump->cursors = NULL;
	dump->heap = NULL;
	dump->cursor_count = dump->heap_count = 0;
}

static void dump_deinit(struct dump *dump)
{
	close_cursors(dump);
	dump_names_deinit(&dump->names);
	chunk_index_deinit(&dump->index);
	recording_source_close(&dump->source);
}

static struct err *read_header(struct dump *dump)
{
	uint8_t data[sizeof(dump->header)];
	size_t got;
	struct err *err = byte_source_read(dump->source.bytes, 0, data, sizeof(data), &got);

	if (err)
		return err;
	switch (header_check(data, got, &dump->header)) {
	case HEADER_VALID:
		return NULL;
	case HEADER_NEWER:
		return err_create("%s: version %u.%u of the format, this mallow reads up to %u",
				  dump->source.bytes->name, dump->header.version_major,
				  dump->header.version_minor, TRACE_VERSION_MAJOR);
	case HEADER_CUT:
		return err_create("%s: cut short within its header", dump->source.bytes->name);
	case HEADER_FOREIGN:
		break;
	}
	return err_create("%s: not a recording", dump->source.bytes->name);
}

/* Opens a cursor for each stream: chunks are sorted by stream. */
static struct err *open_cursors(struct dump *dump)
{
	const struct indexed_chunk *chunks = dump->index.chunks.items;
	size_t count = dump->index.chunks.count, end;

	dump->cursors = calloc(count + 1, sizeof(*dump->cursors));
	dump->heap = calloc(count + 1, sizeof(*dump->heap));
	if (!dump->cursors || !dump->heap)
		return err_no_memory();
	for (size_t begin = 0; begin < count; begin = end) {
		end = begin + 1;
		while (end < count && chunks[end].header.stream == chunks[begin].header.stream)
			end++;
		stream_cursor_init(&dump->cursors[dump->cursor_count++], dump->source.bytes,
				   &dump->damage, &dump->index, begin, end);
	}
	return NULL;
}

static bool earlier(const struct dump *dump, uint32_t a, uint32_t b)
{
	uint64_t left = dump->cursors[a].event.time, right = dump->cursors[b].event.time;

	return left != right ? left < right : a < b;
}

/* Restores the heap if only the entry at `at` may be too late for its place. */
static void sift_down(struct dump *dump, uint32_t at)
{
	uint32_t moved = dump->heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= dump->heap_count)
			break;
		if (child + 1 < dump->heap_count &&
		    earlier(dump, dump->heap[child + 1], dump->heap[child]))
			child++;
		if (!earlier(dump, dump->heap[child], moved))
			break;
		dump->heap[at] = dump->heap[child];
		at = child;
	}
	dump->heap[at] = moved;
}

static struct err *start_merge(struct dump *dump)
{
	for (uint32_t i = 0; i < dump->cursor_count; i++) {
		bool found;
		struct err *err = stream_cursor_next(&dump->cursors[i], &found);

		if (err)
			return err;
		if (found)
			dump->heap[dump->heap_count++] = i;
	}
	for (uint32_t i = dump->heap_count / 2; i-- > 0;)
		sift_down(dump, i);
	return NULL;
}

/* Drops the earliest record. Its stream goes on to its next one, or leaves the heap. */
static struct err *drop_earliest(struct dump *dump)
{
	bool found;
	struct err *err = stream_cursor_next(&dump->cursors[dump->heap[0]], &found);

	if (err)
		return err;
	if (!found)
		dump->heap[0] = dump->heap[--dump->heap_count];
	if (dump->heap_count)
		sift_down(dump, 0);
	return NULL;
}

/*
 * Collects all names before anything is written: in order of time, a frame may be used before the
 * record that defines it.
 */
static struct err *collect_names(struct dump *dump)
{
	for (uint32_t i = 0; i < dump->cursor_count; i++) {
		struct stream_cursor *cursor = &dump->cursors[i];
		struct err *err;
		bool found;

		while (!(err = stream_cursor_next(cursor, &found)) && found) {
			err = dump_names_note(&dump->names, &cursor->event);
			if (err)
				return err;
		}
		if (err)
			return err;
	}
	return NULL;
}

static void put_stack(struct dump *dump, const struct decode_stream *stream)
{
	uint64_t hash = 14695981039346656037ull; // FNV-1a over the pcs

	for (uint32_t i = 0; i < stream->depth; i++)
		hash = (hash ^ dump_names_pc(&dump->names, &stream->stack[i])) * 1099511628211ull;
	buf_printf(dump->buf, " depth=%" PRIu32 " stack=%016" PRIx64, stream->depth,
		   hash ^ hash >> 32);
}

static void put_frames(struct dump *dump, const struct decode_stream *stream)
{
	for (uint32_t i = stream->depth; i-- > 0;) {
		buf_text(dump->buf, "    at ");
		dump_names_put(dump->buf, &dump->names, &stream->stack[i]);
		buf_char(dump->buf, '\n');
	}
}

static void put_record(struct dump *dump, const struct stream_cursor *cursor)
{
	const struct decode_event *event = &cursor->event;
	uint64_t ns = tick_clock_ns(&dump->clock, event->time);
	bool stack = dump_event_has_stack(event, dump->header.flags & TRACE_FREE_STACKS);

	buf_printf(dump->buf, "%" PRIu64 ".%09" PRIu64 " t%" PRIu32 " ", ns / 1000000000,
		   ns % 1000000000, cursor->chunks->header.stream);
	dump_event_put(dump->buf, event);
	if (stack)
		put_stack(dump, &cursor->decode);
	buf_char(dump->buf, '\n');
	if (stack && dump->stacks)
		put_frames(dump, &cursor->decode);
}

static struct err *put_records(struct dump *dump)
{
	struct err *err = open_cursors(dump);

	if (!err)
		err = collect_names(dump);
	close_cursors(dump);
	dump->damage = (struct damage){0}; // the second reading counts damage again
	if (!err)
		err = open_cursors(dump);
	if (!err)
		err = start_merge(dump);
	while (!err && dump->heap_count && !dump->buf->failure) {
		put_record(dump, &dump->cursors[dump->heap[0]]);
		err = drop_earliest(dump);
	}
	return err;
}

struct err *dump_write(struct buf *buf, const char *path, bool stacks)
{
	cleanup(dump_deinit) struct dump dump = {.buf = buf, .stacks = stacks};
	struct damage walk;
	struct err *err = recording_source_open(path, &dump.source);

	if (!err)
		err = read_header(&dump);
	if (!err)
		err = chunk_index_build(dump.source.bytes, &dump.damage, &dump.index);
	if (err)
		return err;
	walk = dump.damage;
	dump.clock = tick_clock_make(&dump.header, dump.index.latest_ticks,
				     dump.index.latest_monotonic_ns);
	err = put_records(&dump);
	if (err)
		return err;
	if (walk.chunks)
		buf_printf(buf, "# damage at offset %" PRIu64 ": expected %s\n", walk.first_offset,
			   walk.first_text);
	if (dump.damage.chunks)
		buf_printf(buf, "# damage at offset %" PRIu64 ": expected %s\n",
			   dump.damage.first_offset, dump.damage.first_text);
	return NULL;
}
