#include "trace/decode.h"

#include "trace/cursor.h"
#include "trace/decode_record.h"

/*
 * The answer when a stack change does not fit into the caller's memory, which is no damage.
 * Compared by address.
 */
static const char need_stack[] = "room";

static enum decode_result stream_bad(struct decode_stream *stream, const char *expected)
{
	stream->expected = expected;
	return DECODE_BAD;
}

enum decode_result decode_chunk(struct decode_stream *stream, const void *payload, uint32_t size,
				uint64_t base, uint32_t carried, bool whole)
{
	stream->payload = payload;
	stream->size = size;
	stream->at = 0;
	stream->base = base;
	stream->time = base;
	stream->address = 0;
	stream->heap_flags = 0;
	if (carried > DECODE_DEPTH_MAX) {
		stream->depth = stream->kept = 0;
		return stream_bad(stream, "a carried stack of at most 1048576 frames");
	}
	if (carried > stream->capacity) {
		stream->needed = carried;
		return DECODE_NEED_STACK;
	}

	uint32_t known = whole && carried <= stream->depth ? carried : 0;

	if (stream->kept > known)
		stream->kept = known;
	for (uint32_t i = known; i < carried; i++)
		stream->stack[i] = (struct decode_frame){.pc = TRACE_PC_LOST};
	stream->depth = carried;
	return DECODE_RECORD;
}

/*
 * A count of a stack change: four bits of its first byte, and, if these are 15, a varint that is
 * added.
 */
static uint64_t take_count(struct cursor *cursor, uint8_t half)
{
	uint64_t count = half;

	if (unlikely(half == 15) && __builtin_add_overflow(count, cursor_varint(cursor), &count))
		cursor_fail(cursor);
	return count;
}

/* Reads a stack change and makes it. Returns NULL, what was expected, or need_stack. */
static const char *change_stack(struct decode_stream *stream, struct cursor *cursor)
{
	uint8_t counts = cursor_u8(cursor);
	uint64_t drop = take_count(cursor, counts & 15);
	uint64_t push = take_count(cursor, counts >> 4);

	if (unlikely(cursor->failed))
		return "the counts of a stack change";
	if (unlikely(drop > stream->depth))
		return "a stack change that drops no more frames than there are";
	if (unlikely(push > cursor_left(cursor)))
		return "as many frames as the stack change pushes";

	uint64_t depth = stream->depth - drop + push;

	if (unlikely(depth > DECODE_DEPTH_MAX))
		return "a stack of at most 1048576 frames";
	if (unlikely(depth > stream->capacity)) {
		stream->needed = (uint32_t)depth;
		return need_stack;
	}
	stream->depth -= (uint32_t)drop;
	if (stream->kept > stream->depth)
		stream->kept = stream->depth;
	for (uint64_t i = 0; i < push; i++) {
		struct decode_frame *frame = &stream->stack[stream->depth + i];

		frame->id = cursor_varint(cursor);
		frame->pc = frame->id ? 0 : cursor_varint(cursor);
	}
	if (unlikely(cursor->failed))
		return "the frames of a stack change";
	stream->depth += (uint32_t)push;
	return NULL;
}

static uint64_t take_address(struct decode_stream *stream, struct cursor *cursor)
{
	uint64_t code = cursor_varint(cursor);
	uint64_t delta = (uint64_t)unzigzag(code >> 1);

	stream->address += code & 1 ? delta : delta * 16;
	return stream->address;
}

/* Reads ticks and adds them to the stream's time. If the sum overflows, the cursor fails. */
static uint64_t pass_time(struct decode_stream *stream, struct cursor *cursor)
{
	if (__builtin_add_overflow(stream->time, cursor_varint(cursor), &stream->time))
		cursor_fail(cursor);
	return stream->time;
}

static bool is_aligned(uint8_t operation)
{
	static const bool aligned[TRACE_OP_LAST_ALLOCATION + 1] = {
#define ENTRY(number, NAME, name, is_aligned) [number] = (is_aligned),
#include "trace/entries.def"
#undef ENTRY
	};

	return aligned[operation];
}

static void take_extra(struct decode_stream *stream, struct cursor *cursor, bool present,
		       struct decode_event *event)
{
	if (present) {
		uint64_t extra = cursor_varint(cursor);

		stream->heap_flags = extra & (TRACE_HEAP_MMAPPED | TRACE_HEAP_NON_MAIN_ARENA);
		if (__builtin_add_overflow(event->block.size, extra >> 2, &event->block.usable))
			cursor_fail(cursor);
	} else {
		event->block.usable = trace_glibc_usable(event->block.size);
	}
	event->heap_flags = stream->heap_flags;
}

static void take_allocation(struct decode_stream *stream, struct cursor *cursor, uint8_t operation,
			    struct decode_event *event)
{
	event->block.start = pass_time(stream, cursor);
	event->block.old_address = 0;
	if (operation > TRACE_OP_LAST_ALLOCATION) {
		pass_time(stream, cursor);
		event->block.old_address = take_address(stream, cursor);
	}
	event->block.address = take_address(stream, cursor);
	event->block.size = cursor_varint(cursor);
	event->block.alignment = 0;
	if (operation <= TRACE_OP_LAST_ALLOCATION && is_aligned(operation))
		event->block.alignment = cursor_varint(cursor);
}

static void resync_stream(struct decode_stream *stream, struct cursor *cursor)
{
	stream->time = cursor_varint(cursor);
	stream->address = 0;
	stream->heap_flags = 0;
	stream->depth = 0;
	stream->kept = 0;
}

/*
 * Reads a core record; its first byte has been read. Returns NULL, what was expected, or
 * need_stack.
 */
static const char *read_core(struct decode_stream *stream, struct cursor *cursor, uint8_t first,
			     struct decode_event *event)
{
	uint8_t operation = first & TRACE_OP_MASK;
	const char *problem;

	if (unlikely(!operation || operation > TRACE_OP_RESYNC))
		return "a record of a known operation";
	if (unlikely(first & TRACE_EXTRA && operation > TRACE_OP_REALLOCARRAY))
		return "no extra field behind this operation";
	if (unlikely(operation == TRACE_OP_STACK && !(first & TRACE_STACK_CHANGE)))
		return "a stack record with a stack change";
	if (first & TRACE_STACK_CHANGE && (problem = change_stack(stream, cursor)))
		return problem;
	event->kind = operation;
	if (operation <= TRACE_OP_REALLOCARRAY) {
		take_allocation(stream, cursor, operation, event);
		take_extra(stream, cursor, first & TRACE_EXTRA, event);
	} else if (operation <= TRACE_OP_DELETE_ARRAY) {
		event->block.start = pass_time(stream, cursor);
		event->block.address = take_address(stream, cursor);
	} else if (operation == TRACE_OP_TIME) {
		stream->time = cursor_varint(cursor);
	} else if (operation == TRACE_OP_RESYNC) {
		resync_stream(stream, cursor);
	}
	event->time = stream->time;
	return unlikely(cursor->failed) ? "the fields of a record" : NULL;
}

/*
 * Reads a record that is no core record. *known: it is of a kind that struct decode_event can hold.
 * Returns NULL or what was expected.
 */
static const char *read_other(struct decode_stream *stream, struct cursor *cursor, uint8_t first,
			      struct decode_event *event, bool *known)
{
	uint64_t size = cursor_varint(cursor);
	const uint8_t *body = cursor_bytes(cursor, size);

	if (!body)
		return "a record that ends within its chunk";

	struct cursor fields = cursor_make(body, size);

	event->kind = first;
	event->heap_flags = 0;
	event->time = stream->time;
	*known = decode_record(&fields, stream->base, event);
	return fields.failed ? "all fields of a record" : NULL;
}

/*
 * The fast path, for nearly all records. If at least as many bytes are left as the longest such
 * record has, its fields need no bounds checks. On anything rare or wrong quick_record() returns
 * false and leaves the stream as it was, but for room above the stack's top; read_core() then reads
 * the record from its start.
 */
#define QUICK_PUSH 14 /* frames: each an id, or id 0 and a pc */
#define QUICK_ROOM (2 + QUICK_PUSH * (1 + VARINT_MAX) + 4 * VARINT_MAX)

struct quick {
	const uint8_t *at;
	bool rare; /* a varint had more than eight bytes */
};

static inline uint64_t quick_varint(struct quick *quick)
{
	unsigned int size;
	uint64_t value = cursor_varint_in(bytes_u64_first_lowest(quick->at), &size);

	quick->at += size;
	quick->rare |= !size;
	return value;
}

/*
 * Reads a stack change. *depth: how many frames stay. Returns how many there are after it; 0: rare.
 */
static inline uint32_t quick_stack(struct decode_stream *stream, struct quick *quick,
				   uint32_t *depth)
{
	uint32_t drop = *quick->at & 15, push = *quick->at >> 4;
	struct decode_frame *frame;

	quick->at++;
	if (unlikely(drop == 15 || push > QUICK_PUSH || drop > stream->depth))
		return 0;
	*depth = stream->depth - drop;
	if (unlikely(*depth + push > stream->capacity || *depth + push > DECODE_DEPTH_MAX))
		return 0;
	frame = &stream->stack[*depth];
	for (uint32_t i = 0; i < push; i++, frame++) {
		frame->id = quick_varint(quick);
		frame->pc = likely(frame->id) ? 0 : quick_varint(quick);
	}
	return *depth + push;
}

/* Reads the size of an allocation, and its extra field if it has one. False: rare. */
static inline bool quick_size(struct decode_stream *stream, struct quick *quick, bool extra,
			      struct decode_event *event)
{
	uint8_t flags = stream->heap_flags;
	uint64_t size = quick_varint(quick), usable = trace_glibc_usable(size);

	if (extra) {
		uint64_t code = quick_varint(quick);

		flags = code & (TRACE_HEAP_MMAPPED | TRACE_HEAP_NON_MAIN_ARENA);
		usable = size + (code >> 2);
	}
	if (unlikely(quick->rare || usable < size))
		return false;
	event->block.size = size;
	event->block.usable = usable;
	event->block.alignment = event->block.old_address = 0;
	event->heap_flags = stream->heap_flags = flags;
	return true;
}

static bool quick_record(struct decode_stream *stream, struct decode_event *event)
{
	struct quick quick = {.at = stream->payload + stream->at};
	uint8_t first = *quick.at++, operation = first & TRACE_OP_MASK;
	bool frees = operation >= TRACE_OP_FREE;
	uint32_t kept = stream->depth, depth = kept;
	uint64_t address, code;

	if (first & TRACE_OTHER || !operation || operation > TRACE_OP_DELETE_ARRAY ||
	    (!frees && (operation > TRACE_OP_LAST_ALLOCATION || is_aligned(operation))))
		return false;
	if (first & TRACE_STACK_CHANGE) {
		depth = quick_stack(stream, &quick, &kept);
		if (unlikely(!depth))
			return false;
	}
	event->block.start = stream->time + quick_varint(&quick);
	code = quick_varint(&quick);
	address = (uint64_t)unzigzag(code >> 1);
	event->block.address = stream->address + (code & 1 ? address : address * 16);
	if (unlikely(quick.rare || event->block.start < stream->time))
		return false;
	if (!frees) {
		if (!quick_size(stream, &quick, first & TRACE_EXTRA, event))
			return false;
	} else if (unlikely(first & TRACE_EXTRA)) {
		return false;
	}
	event->kind = operation;
	event->offset = stream->at;
	event->time = stream->time = event->block.start;
	stream->address = event->block.address;
	if (stream->kept > kept)
		stream->kept = kept;
	stream->depth = depth;
	stream->at = (uint32_t)(quick.at - stream->payload);
	return true;
}

/* The slow path: reads any record, skips unknown ones, and finds the end of the chunk. */
static never_inline enum decode_result next_slow(struct decode_stream *stream,
						 struct decode_event *event)
{
	bool known = true;

	do {
		if (stream->at == stream->size)
			return DECODE_END;

		const uint8_t *start = stream->payload + stream->at;
		struct cursor cursor = cursor_make(start, stream->size - stream->at);
		uint8_t first = cursor_u8(&cursor);
		const char *problem;

		event->offset = stream->at;
		if (first & TRACE_OTHER)
			problem = read_other(stream, &cursor, first, event, &known);
		else
			problem = read_core(stream, &cursor, first, event), known = true;
		if (unlikely(problem == need_stack))
			return DECODE_NEED_STACK;
		if (unlikely(problem))
			return stream_bad(stream, problem);
		stream->at += (uint32_t)(cursor.at - start);
	} while (!known);
	return DECODE_RECORD;
}

enum decode_result decode_next(struct decode_stream *stream, struct decode_event *event)
{
	if (likely(stream->size - stream->at >= QUICK_ROOM) && likely(quick_record(stream, event)))
		return DECODE_RECORD;
	return next_slow(stream, event);
}
