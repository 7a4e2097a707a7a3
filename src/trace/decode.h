/*
 * Decodes the payload of events chunks, record by record: docs/trace-format.md, sections 4 and 5.
 *
 * Freestanding: no heap, no I/O. All state is in struct decode_stream, one for each stream of the
 * recording. The caller owns the memory of its stack of frames, and is asked for more when needed
 * (DECODE_NEED_STACK):
 *
 *	decode_chunk(&stream, payload, size, base, carried, whole);
 *	while ((result = decode_next(&stream, &event)) == DECODE_RECORD)
 *		…;
 *
 * The bytes need not be trusted: whatever they are, the worst answer is DECODE_BAD.
 */
#ifndef MALLOW_TRACE_DECODE_H
#define MALLOW_TRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/* The deepest stack accepted, in frames: a deeper one is damage. The agent stops at 16,384. */
#define DECODE_DEPTH_MAX (1u << 20)

/* A frame as records name it: by the id of a frame record, or, if id is 0, by its pc alone. */
struct decode_frame {
	uint64_t id;
	uint64_t pc;
};

struct decode_stream {
	/*
	 * Owned by the caller: room for `capacity` frames, outermost first. The caller may move it
	 * between calls.
	 */
	struct decode_frame *stack;
	uint32_t capacity;

	/*
	 * depth: frames on the stack. kept: how many of the outermost frames have not changed since
	 * the caller last set kept = depth. A caller that keeps something for each frame redoes it
	 * only for frames from kept on.
	 */
	uint32_t depth;
	uint32_t kept;

	uint64_t time; /* ticks */
	uint64_t address;
	uint64_t base;
	uint8_t heap_flags;

	const uint8_t *payload;
	uint32_t size;
	uint32_t at; /* where the next record starts */

	uint32_t needed;      /* after DECODE_NEED_STACK: the capacity asked for */
	const char *expected; /* after DECODE_BAD: what was expected at `at` */
};

struct decode_text {
	const char *data; /* points into the payload; no NUL at its end */
	uint32_t size;
};

struct decode_event {
	uint8_t kind; /* enum trace_op or enum trace_record */
	uint8_t heap_flags;
	uint32_t offset; /* of the record's first byte in the payload */
	uint64_t time;   /* ticks; frame, process, culled and place records: the stream's */
	union {
		/* Operations 1-22. */
		struct {
			uint64_t start; /* when it began; a realloc frees the old block then */
			uint64_t old_address;
			uint64_t address;
			uint64_t size;
			uint64_t usable;
			uint64_t alignment; /* 0: none asked for */
		} block;
		struct {
			uint64_t id, pc, module, flags;
			uint64_t line; /* of a script frame, as the name */
			struct decode_text name;
		} frame;
		struct {
			uint64_t id, generation, bias, start, end;
			const uint8_t *build_id;
			uint32_t build_id_size;
			struct decode_text path;
		} module; /* module gone sets id only */
		struct {
			uint64_t tid;
			struct decode_text name;
		} thread; /* thread name sets name only */
		struct {
			uint64_t field;
			struct decode_text value;
		} process;
		struct {
			uint64_t requested, address, length, protection, flags, offset;
			uint64_t old_address, old_length;
			int64_t fd, increment;
		} mapping;
		struct {
			int64_t parameter, value, result;
		} mallopt;
		/*
		 * Records of the program's own pools. start: the event's time, at the same place as
		 * in block. address is set by allocations and frees, size by allocations, name by
		 * name records.
		 */
		struct {
			uint64_t start, pool, address, size;
			struct decode_text name;
		} pool;
		struct decode_text text; /* mark: name, exec: path */
		uint64_t tag;
		struct {
			uint64_t id, outer; /* outer: id of the stack that it continues; 0: none */
			struct decode_text frames; /* for decode_stack_frame() */
		} stack;
		struct {
			uint64_t stack, stream, tag, address, size, alignment, slack;
			uint64_t old_address, duration; /* of a realloc, else 0 */
			uint8_t operation;
		} survivor; /* heap flags: in the event */
		struct {
			uint64_t stack, calls, bytes, temporary;
		} culled;
		struct {
			uint64_t offset, address;
			const uint8_t *id; /* TRACE_PLACE_ID bytes of the payload */
		} place;
		struct {
			uint64_t virtual_size, resident, anonymous, file, shared, swap;
		} memory;
		struct {
			uint64_t pid;
		} fork;
		struct {
			uint64_t monotonic_ns, reason, status, watched;
		} end;
		struct {
			uint64_t operation, size;
		} failed;
		struct {
			uint64_t kind, bytes;
			struct decode_text object, name, symbol;
		} unseen;
		struct {
			uint64_t stack;              /* id; 0: of all stacks together */
			uint64_t known;              /* bits of enum trace_sum */
			uint64_t values[TRACE_SUMS]; /* 0 where not known */
		} sum;
		struct {
			uint64_t functions, refused;
			struct decode_text object, name, why;
		} patched;
	};
};

enum decode_result {
	DECODE_RECORD,
	DECODE_END,        /* of the chunk */
	DECODE_NEED_STACK, /* nothing changed: call again with room for `needed` frames */
	DECODE_BAD,        /* `at` and `expected` say where and why; no more of this chunk */
};

/*
 * Begins a chunk with size bytes of payload, which must stay in place until the next
 * decode_chunk(): events point into it. base, carried: base_ticks and carried of the chunk's
 * header.
 *
 * carried is how many frames the stack has at the chunk's start. whole: the chunk before this one
 * in the stream was read to its end, so these frames are known; if not they become TRACE_PC_LOST.
 *
 * Returns DECODE_RECORD if the chunk has begun, else DECODE_NEED_STACK or DECODE_BAD.
 */
enum decode_result decode_chunk(struct decode_stream *stream, const void *payload, uint32_t size,
				uint64_t base, uint32_t carried, bool whole);

/* Reads the next record; skips records of kinds that this reader does not know. */
enum decode_result decode_next(struct decode_stream *stream, struct decode_event *event);

/* Takes the first frame of `frames` off it, and returns it in *ret. false: none is left. */
bool decode_stack_frame(struct decode_text *frames, struct decode_frame *ret);

#endif
