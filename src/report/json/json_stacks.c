#include "report/json/json_stacks.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/names/short_name.h"
#include "hosted/cleanup.h"

void json_stacks_init(struct json_stacks *stacks, const struct recording *recording,
		      struct symbolized *symbolized, bool in_place)
{
	*stacks = (struct json_stacks){
		.recording = recording,
		.symbolized = symbolized,
		.in_place = in_place,
	};
}

void json_stacks_deinit(struct json_stacks *stacks)
{
	free(stacks->row_of);
	free(stacks->first_of);
	vec_deinit(&stacks->frames);
	vec_deinit(&stacks->rows);
	vec_deinit(&stacks->path);
	site_identities_deinit(&stacks->identities);
}

void json_stacks_function(struct json_writer *json, const struct named_frame *frame)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;

	json_field_text(json, "function", frame ? frame->function : NULL);
	if (frame && named_frame_is_demangled(frame))
		short_name_put(&name, frame->function, SHORT_NAME_USUAL);
	json_field_text(json, "short",
			name.size ? buf_string(&name)
			: frame   ? frame->function
				  : NULL);
}

static void put_frame(struct json_writer *json, const struct named_frame *frame)
{
	json_object(json);
	json_stacks_function(json, frame);
	json_field_text(json, "file", frame->file);
	json_key(json, "line");
	if (frame->line)
		json_u64(json, frame->line);
	else
		json_null(json);
	json_field_text(json, "module", frame->module);
	json_field_hex(json, "address", frame->address);
	json_field_bool(json, "inlined", frame->inlined);
	json_field_bool(json, "plumbing", frame->plumbing);
	json_end(json);
}

static uint32_t stack_depth(const struct stack_node *nodes, uint32_t node)
{
	uint32_t depth = 0;

	for (; node != RECORDING_NONE; node = nodes[node].parent)
		depth++;
	return depth;
}

static void put_left_out(struct json_writer *json, uint32_t count)
{
	char text[40];
	struct named_frame frame = {.function = text};

	snprintf(text, sizeof(text), "[%" PRIu32 " frames left out]", count);
	put_frame(json, &frame);
}

static struct err *put_in_place(struct json_stacks *stacks, struct json_writer *json, uint32_t node)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(stacks->recording, &count);
	uint32_t depth = stack_depth(nodes, node), left_out = 0;

	if (depth > 2 * JSON_STACK_END)
		left_out = depth - 2 * JSON_STACK_END;
	json_array(json);
	for (uint32_t at = 0; node != RECORDING_NONE; node = nodes[node].parent, at++) {
		const struct named_frame *frames;
		size_t frame_count;
		struct err *err;

		if (left_out && at == JSON_STACK_END)
			put_left_out(json, left_out);
		if (at >= JSON_STACK_END && at < JSON_STACK_END + left_out)
			continue;
		err = symbolized_frame(stacks->symbolized, nodes[node].frame, &frames,
				       &frame_count);
		if (err)
			return err;
		for (size_t i = 0; i < frame_count; i++)
			put_frame(json, &frames[i]);
	}
	json_end(json);
	return NULL;
}

static struct err *make_tables(struct json_stacks *stacks)
{
	uint32_t nodes, frames;

	recording_stacks(stacks->recording, &nodes);
	recording_frames(stacks->recording, &frames);
	stacks->row_of = calloc((size_t)nodes + 1, sizeof(*stacks->row_of));
	stacks->first_of = calloc((size_t)frames + 1, sizeof(*stacks->first_of));
	return stacks->row_of && stacks->first_of ? NULL : err_no_memory();
}

/*
 * Adds rows for a frame of the recording. *row: its caller's row; becomes that of the innermost
 * function.
 */
static struct err *add_rows(struct json_stacks *stacks, uint32_t frame, uint32_t *row)
{
	const struct named_frame *frames;
	size_t count;
	struct err *err = symbolized_frame(stacks->symbolized, frame, &frames, &count);

	if (err)
		return err;
	if (!stacks->first_of[frame]) {
		if (!vec_push(&stacks->frames, frame))
			return err_no_memory();
		stacks->first_of[frame] = stacks->frame_count + 1;
		stacks->frame_count += (uint32_t)count;
	}
	while (count--) {
		uint32_t number = stacks->first_of[frame] - 1 + (uint32_t)count;

		if (!vec_push(&stacks->rows, (struct json_stack_row){number, *row}))
			return err_no_memory();
		*row = (uint32_t)stacks->rows.count - 1;
	}
	return NULL;
}

/* *ret: the row of a node. The node and its callers get rows if they have none. */
static struct err *find_row(struct json_stacks *stacks, uint32_t node, uint32_t *ret)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(stacks->recording, &count);
	uint32_t row = RECORDING_NONE;
	struct err *err = NULL;

	if (!stacks->row_of)
		err = make_tables(stacks);
	if (err)
		return err;
	stacks->path.count = 0;
	for (; node != RECORDING_NONE && !stacks->row_of[node]; node = nodes[node].parent)
		if (!vec_push(&stacks->path, node))
			return err_no_memory();
	if (node != RECORDING_NONE)
		row = stacks->row_of[node] - 1;
	while (stacks->path.count && !err) {
		node = stacks->path.items[--stacks->path.count];
		err = add_rows(stacks, nodes[node].frame, &row);
		stacks->row_of[node] = row + 1;
	}
	*ret = row;
	return err;
}

struct err *json_stacks_put(struct json_stacks *stacks, struct json_writer *json, uint32_t node)
{
	uint32_t row = RECORDING_NONE;
	struct err *err;

	if (stacks->in_place)
		return put_in_place(stacks, json, node);
	err = find_row(stacks, node, &row);
	if (err)
		return err;
	if (row == RECORDING_NONE)
		json_null(json);
	else
		json_u64(json, row);
	return NULL;
}

struct err *json_stacks_field_site(struct json_stacks *stacks, struct json_writer *json,
				   uint32_t node)
{
	struct site_identity identity;
	struct err *err =
		site_identities_find(&stacks->identities, stacks->symbolized, node, &identity);

	if (err)
		return err;
	json_field_text(json, "site_id", site_identity_text(identity.site).digits);
	json_field_text(json, "shape_id", site_identity_text(identity.shape).digits);
	json_field_bool(json, "weak_id", identity.weak);
	json_key(json, "stack");
	return json_stacks_put(stacks, json, node);
}

static struct err *put_frames(struct json_stacks *stacks, struct json_writer *json)
{
	json_field_array(json, "frames");
	for (size_t i = 0; i < stacks->frames.count; i++) {
		const struct named_frame *frames;
		size_t count;
		struct err *err = symbolized_frame(stacks->symbolized, stacks->frames.items[i],
						   &frames, &count);

		if (err)
			return err;
		for (size_t k = 0; k < count; k++)
			put_frame(json, &frames[k]);
	}
	json_end(json);
	return NULL;
}

/* Writes one row on each line: there may be millions. */
static struct err *put_rows(struct json_stacks *stacks, struct json_writer *json)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	json_field_array(json, "stacks");
	for (size_t i = 0; i < stacks->rows.count; i++) {
		const struct json_stack_row *row = &stacks->rows.items[i];
		struct json_writer line;

		buf.size = 0;
		json_init(&line, &buf, false);
		json_object(&line);
		json_field_u64(&line, "frame", row->frame);
		json_key(&line, "parent");
		if (row->parent == RECORDING_NONE)
			json_null(&line);
		else
			json_u64(&line, row->parent);
		json_end(&line);
		json_made(json, buf.data, buf.size);
	}
	json_end(json);
	return buf_finish(&buf);
}

struct err *json_stacks_finish(struct json_stacks *stacks, struct json_writer *json)
{
	struct err *err = stacks->in_place ? NULL : put_frames(stacks, json);

	return err || stacks->in_place ? err : put_rows(stacks, json);
}
