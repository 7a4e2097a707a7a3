/*
 * How stacks stand in JSON. A recording shares the outer frames of its stacks; so does the JSON, by
 * default: a stack is written as a row's number, and the rows are written once, behind all that
 * refers to them.
 *
 *	"stack": 2
 *	…
 *	"frames": [ {"function": "main", …}, {"function": "work", …}, … ],
 *	"stacks": [ {"frame": 0, "parent": null}, {"frame": 1, "parent": 0}, … ]
 *
 * Row 2 is the innermost frame of its stack; "parent" leads to its caller, and is always a smaller
 * number. null is the stack without frames. A function that was inlined has a row of its own.
 *
 * Inline: each stack in full where it stands, an array of frames, innermost first. A recording of
 * 278 KB with deep recursion makes 13 GB of that.
 *
 *	struct json_stacks stacks;
 *	json_stacks_init(&stacks, recording, symbolized, false);
 *	json_object(&json);
 *	…	json_key(&json, "stack"); err = json_stacks_put(&stacks, &json, site->stack); …
 *	err = json_stacks_finish(&stacks, &json);
 *	json_end(&json);
 *	json_stacks_deinit(&stacks);
 */
#ifndef MALLOW_REPORT_JSON_JSON_STACKS_H
#define MALLOW_REPORT_JSON_JSON_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/names/symbolized.h"
#include "hosted/json_writer.h"
#include "hosted/vec.h"

struct json_stack_row {
	uint32_t frame, parent; /* parent RECORDING_NONE: the outermost */
};

/* row_of and first_of are made by the first stack of a table, and hold number + 1; 0: none yet. */
struct json_stacks {
	const struct recording *recording;
	struct symbolized *symbolized;
	bool in_place;
	uint32_t *row_of;     /* by node of the recording: the row of its innermost frame */
	uint32_t *first_of;   /* by frame of the recording: where its functions begin in "frames" */
	VEC(uint32_t) frames; /* frames of the recording, in the order of "frames" */
	uint32_t frame_count; /* rows of "frames": each inlined function is one */
	VEC(struct json_stack_row) rows;
	VEC(uint32_t) path; /* nodes without a row, from the innermost outwards */
};

/* Stacks of recording, whose frames symbolized knows. Both must outlive it. */
void json_stacks_init(struct json_stacks *stacks, const struct recording *recording,
		      struct symbolized *symbolized, bool in_place);
void json_stacks_deinit(struct json_stacks *stacks);

/* The value of a key: the stack of that node, RECORDING_NONE for the one without frames. */
struct err *json_stacks_put(struct json_stacks *stacks, struct json_writer *json, uint32_t node);

/* The fields "frames" and "stacks", in the object that is open; nothing if they stand in place. */
struct err *json_stacks_finish(struct json_stacks *stacks, struct json_writer *json);

#endif
