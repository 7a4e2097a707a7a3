/*
 * A stack while a reader collects it, and frames as texts say them. Most files name the innermost
 * frame first; recordings begin with the outermost: import_stack_turn().
 */
#ifndef MALLOW_IMPORT_STACK_H
#define MALLOW_IMPORT_STACK_H

#include "hosted/vec.h"
#include "import/sink.h"

/* Zeroed: empty. */
struct import_stack {
	VEC(struct record_frame) frames;
};

void import_stack_deinit(struct import_stack *stack);

/* Appends a frame: by its number, or, if that is 0, by its pc. */
struct err *import_stack_push(struct import_stack *stack, uint32_t id, uint64_t pc);

/* Turns the order of the frames around. */
void import_stack_turn(struct import_stack *stack);

/* What a text says of a frame. Empty spans: nothing. */
struct frame_parts {
	struct span module, function, file;
	uint32_t line;
	uint64_t address; /* of the call: shown if there is no function */
};

/* Appends such a frame. */
struct err *import_stack_put(struct import_stack *stack, struct import_sink *sink,
			     const struct frame_parts *parts);

/*
 * Appends a frame as valgrind and others write it:
 *
 *	0x1091B0: grab (small.c:5)      or (in /usr/lib/libc.so.6), without "0x1091B0: " perhaps
 */
struct err *import_stack_put_text(struct import_stack *stack, struct import_sink *sink,
				  struct span text);

/* Splits "small.c:5" or "small.c:5:17" at its last numbers. A line of 0: there is none. */
void import_split_line(struct span text, struct span *file, uint32_t *line);

#endif
