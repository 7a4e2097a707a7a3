/*
 * Decodes the payload of events chunks, record by record: docs/trace-format.md, sections 4 and 5.
 *
 * Freestanding: no heap, no I/O. All state is in struct decode_stream, one for each stream of the
 * recording, and its stack of frames is memory of the caller, who is asked for more when needed:
 *
 *	decode_chunk(&stream, payload, size, base, carried, whole);
 *	while ((result = decode_next(&stream, &event)) == DECODE_RECORD)
 *		…;
 *
 * Any bytes may be fed to it: the worst answer is DECODE_BAD.
 */
#ifndef MALLOW_TRACE_DECODE_H
#define MALLOW_TRACE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/* No stack is deeper: what claims to be is damage. The agent stops at 16,384 frames. */
#define DECODE_DEPTH_MAX (1u << 20)

/* A frame as records name it: by the id of a frame record, or by its pc alone where id is 0. */
struct decode_frame {
	uint64_t id;
	uint64_t pc;
};

struct decode_stream {
	/* The caller's: room for the stack, outermost frame first. May be moved between calls. */
	struct decode_frame *stack;
	uint32_t capacity;

	/* Frames on the stack, and how many of the outermost ones are as they were when the caller
	 * last set kept = depth: what a caller who keeps something for each frame need not redo. */
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
	const char *expected; /* after DECODE_BAD: what should have stood at `at` */
};

struct decode_text {
	const char *data; /* in the payload, without a NUL at its end */
	uint32_t size;
};

struct decode_event {
	uint8_t kind; /* enum trace_op or enum trace_record */
	uint8_t heap_flags;
	uint32_t offset; /* of its first byte in the payload */
	uint64_t time;   /* ticks; of frame and process records: that of the stream */
	union {
		/* Operations 1-22. */
		struct {
			uint64_t start; /* of a realloc: when it freed the old block */
			uint64_t old_address;
			uint64_t address;
			uint64_t size;
			uint64_t usable;
			uint64_t alignment; /* 0: none asked for */
		} block;
		struct {
			uint64_t id, pc, module;
		} frame;
		struct {
			uint64_t id, generation, bias, start, end;
			const uint8_t *build_id;
			uint32_t build_id_size;
			struct decode_text path;
		} module; /* of module gone: id alone */
		struct {
			uint64_t tid;
			struct decode_text name;
		} thread; /* of thread name: the name alone */
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
		 * Of the program's own pools. start is the event's time, where block has its own;
		 * address: of an allocation or free, size of an allocation, name of a name.
		 */
		struct {
			uint64_t start, pool, address, size;
			struct decode_text name;
		} pool;
		struct decode_text text; /* mark: name, exec: path */
		uint64_t tag;
		struct {
			uint64_t id, outer; /* outer: id of the stack that it continues, 0: none */
			struct decode_text frames; /* for decode_stack_frame() */
		} stack;
		struct {
			uint64_t stack, stream, tag, address, size, alignment, slack;
			uint64_t old_address, duration; /* of a realloc, else 0 */
			uint8_t operation;
		} survivor; /* its heap flags are the event's */
		struct {
			uint64_t stack, calls, bytes, temporary;
		} culled;
		struct {
			uint64_t virtual_size, resident, anonymous, file, shared, swap;
		} memory;
		struct {
			uint64_t pid;
		} fork;
		struct {
			uint64_t monotonic_ns, reason, status;
		} end;
		struct {
			uint64_t operation, size;
		} failed;
	};
};

enum decode_result {
	DECODE_RECORD,
	DECODE_END,        /* of the chunk */
	DECODE_NEED_STACK, /* nothing happened: call again with room for `needed` frames */
	DECODE_BAD,        /* `at` and `expected` say where and why; no more of this chunk */
};

/*
 * Begins a chunk. whole: the chunk before it in the stream was read to its end, so the frames
 * carried over are known; else they are lost (TRACE_PC_LOST). The payload must stay in place
 * until the next decode_chunk(). DECODE_RECORD: begun; DECODE_NEED_STACK and DECODE_BAD as above.
 */
enum decode_result decode_chunk(struct decode_stream *stream, const void *payload, uint32_t size,
				uint64_t base, uint32_t carried, bool whole);

/* The next record of a known kind. */
enum decode_result decode_next(struct decode_stream *stream, struct decode_event *event);

/* Takes the next frame of a stack record off its front. false: there is none. */
bool decode_stack_frame(struct decode_text *frames, struct decode_frame *ret);

#endif
