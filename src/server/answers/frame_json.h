/*
 * The frames of a recording as JSON. Each is made once and then copied, which is cheaper: a page of
 * allocations repeats the same few thousand frames many times.
 */
#ifndef MALLOW_SERVER_ANSWERS_FRAME_JSON_H
#define MALLOW_SERVER_ANSWERS_FRAME_JSON_H

#include "analysis/names/symbolized.h"
#include "hosted/arena.h"
#include "hosted/json_writer.h"
#include "hosted/vec.h"

struct made_frame {
	const char *text;   /* objects with commas between, outermost first; NULL: not made */
	const size_t *ends; /* of each line of the frame, innermost first: where its object ends */
	size_t size;
	size_t lines;
};

struct frame_json {
	struct symbolized *symbolized;
	const uint64_t *calls; /* for each frame: frame_calls.h */
	bool strip;
	struct arena arena;
	struct made_frame *made;
	VEC(uint32_t) path; /* frames of the present stack, innermost first */
};

/* symbolized and calls are borrowed. */
void frame_json_init(struct frame_json *frames, struct symbolized *symbolized,
		     const uint64_t *calls, bool strip);
/* Accepts a zeroed struct. */
void frame_json_deinit(struct frame_json *frames);

/*
 * Writes a stack as an array, outermost frame first. stack: its innermost node, or RECORDING_NONE.
 */
struct err *frame_json_put_stack(struct frame_json *frames, struct json_writer *json,
				 uint32_t stack);

/* Writes an array: of each frame of frame_json_put_stack() whether it is plumbing (plumbing.h). */
struct err *frame_json_put_plumbing(struct frame_json *frames, struct json_writer *json,
				    uint32_t stack);

/* Writes one line of a frame as an object: an inlined function, or the function itself. */
struct err *frame_json_put_line(struct frame_json *frames, struct json_writer *json, uint32_t frame,
				uint32_t line);

#endif
