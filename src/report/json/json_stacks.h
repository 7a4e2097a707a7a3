/*
 * Stacks in JSON. By default stacks share their outer frames, as in a recording: a stack is written
 * as the number of a row, and all rows are written once, behind everything that refers to them.
 *
 *	"stack": 2
 *	…
 *	"frames": [ {"function": "main", …}, {"function": "work", …}, … ],
 *	"stacks": [ {"frame": 0, "parent": null}, {"frame": 1, "parent": 0}, … ]
 *
 * Row 2 is the innermost frame of its stack; "parent" is the row of its caller, always a smaller
 * number. null is a stack without frames. An inlined function has a row of its own.
 *
 * In place (in_place): each stack is an array of frames, innermost first. Of one with more than
 * 2 * JSON_STACK_END frames of the recording so many at both ends are written, and between them an
 * entry "[N frames left out]": 278 KB of deep recursion became 13 GB.
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

#include "analysis/names/site_identity.h"
#include "hosted/json_writer.h"
#include "hosted/vec.h"

#define JSON_STACK_END 500

struct json_stack_row {
	uint32_t frame, parent; /* parent RECORDING_NONE: the outermost */
};

/*
 * row_of and first_of are made for the first stack of the table. They hold number + 1; 0: none yet.
 */
struct json_stacks {
	const struct recording *recording;
	struct symbolized *symbolized;
	bool in_place;
	uint32_t *row_of;     /* for each node: the row of its innermost function */
	uint32_t *first_of;   /* for each frame: where its functions begin in "frames" */
	VEC(uint32_t) frames; /* frames of the recording, in the order of "frames" */
	uint32_t frame_count; /* entries of "frames", with those of inlined functions */
	VEC(struct json_stack_row) rows;
	VEC(uint32_t) path; /* nodes without a row, from the innermost outwards */
	struct site_identities identities;
};

/* For stacks of recording, whose frames symbolized names. Both must outlive it. */
void json_stacks_init(struct json_stacks *stacks, const struct recording *recording,
		      struct symbolized *symbolized, bool in_place);
void json_stacks_deinit(struct json_stacks *stacks);

/*
 * Writes the value of a key: the stack of that node, RECORDING_NONE for the stack without frames.
 */
struct err *json_stacks_put(struct json_stacks *stacks, struct json_writer *json, uint32_t node);

/*
 * Writes the fields "site_id", "shape_id", "weak_id" and "stack" of that stack into the open object
 * (analysis/names/site_identity.h).
 */
struct err *json_stacks_field_site(struct json_stacks *stacks, struct json_writer *json,
				   uint32_t node);

/* Writes the fields "frames" and "stacks" into the open object; nothing with in_place. */
struct err *json_stacks_finish(struct json_stacks *stacks, struct json_writer *json);

/*
 * Writes the fields "function" and "short" into the open object: the whole name, and that of
 * short_name.h. frame NULL: they are null.
 */
void json_stacks_function(struct json_writer *json, const struct named_frame *frame);

#endif
