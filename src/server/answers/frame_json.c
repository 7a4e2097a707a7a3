#include "server/answers/frame_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hosted/cleanup.h"
#include "report/names/template_args.h"

void frame_json_init(struct frame_json *frames, struct symbolized *symbolized,
		     const uint64_t *calls, bool strip)
{
	*frames = (struct frame_json){.symbolized = symbolized, .calls = calls, .strip = strip};
}

void frame_json_deinit(struct frame_json *frames)
{
	arena_deinit(&frames->arena);
	free(frames->made);
	vec_deinit(&frames->path);
}

static struct err *put_function(const struct frame_json *frames, struct json_writer *json,
				const struct named_frame *line)
{
	cleanup(buf_deinit) struct buf stripped = BUF_EMPTY;

	json_key(json, "function");
	if (!line->has_symbol && line->address)
		json_null(json);
	else if (!frames->strip)
		json_text(json, line->function);
	else
		template_args_strip(&stripped, line->function);
	if (!json->after_key)
		return NULL;
	json_text(json, buf_string(&stripped));
	return buf_finish(&stripped);
}

static struct err *put_line(const struct frame_json *frames, struct json_writer *json,
			    const struct named_frame *line, uint64_t calls)
{
	char address[24];
	struct err *err;

	snprintf(address, sizeof(address), "%016" PRIX64, line->address);
	json_object(json);
	json_field_u64(json, "address", line->address);
	json_field_text(json, "address_s", address);
	json_field_u64(json, "count", calls);
	json_field_text(json, "library", line->module_name);
	err = put_function(frames, json, line);
	json_field_text(json, "raw_function", line->raw_function);
	json_field_text(json, "source", line->file);
	json_key(json, "line");
	if (line->line)
		json_u64(json, line->line);
	else
		json_null(json);
	json_key(json, "column");
	json_null(json);
	json_field_bool(json, "is_inline", line->inlined);
	json_end(json);
	return err;
}

static struct err *make_frame(struct frame_json *frames, uint32_t frame, struct made_frame *made)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	const struct named_frame *lines;
	struct err *err;
	size_t count, *ends;

	err = symbolized_frame(frames->symbolized, frame, &lines, &count);
	if (err)
		return err;
	ends = arena_alloc(&frames->arena, count * sizeof(*ends));
	if (!ends)
		return err_no_memory();
	for (size_t i = count; !err && i-- > 0;) {
		struct json_writer json;

		json_init(&json, &buf, false);
		err = put_line(frames, &json, &lines[i], frames->calls[frame]);
		ends[i] = buf.size;
		if (i)
			buf_char(&buf, ',');
	}
	if (!err)
		err = buf_finish(&buf);
	if (err)
		return err;
	made->ends = ends;
	made->lines = count;
	made->size = buf.size;
	made->text = arena_copy(&frames->arena, buf.data, buf.size);
	return made->text ? NULL : err_no_memory();
}

/* *ret: the JSON of a frame. */
static struct err *made_of(struct frame_json *frames, uint32_t frame, const struct made_frame **ret)
{
	uint32_t count;

	recording_frames(symbolized_recording(frames->symbolized), &count);
	if (!frames->made)
		frames->made = calloc((size_t)count + 1, sizeof(*frames->made));
	if (!frames->made)
		return err_no_memory();
	*ret = &frames->made[frame];
	return (*ret)->text ? NULL : make_frame(frames, frame, &frames->made[frame]);
}

struct err *frame_json_put_line(struct frame_json *frames, struct json_writer *json, uint32_t frame,
				uint32_t line)
{
	const struct made_frame *made;
	struct err *err = made_of(frames, frame, &made);
	size_t begin;

	if (err)
		return err;
	// Outer lines come first, with a comma behind each.
	begin = line + 1 < made->lines ? made->ends[line + 1] + 1 : 0;
	json_made(json, made->text + begin, made->ends[line] - begin);
	return NULL;
}

/* Fills the path with the frames of a stack. */
static bool take_path(struct frame_json *frames, uint32_t stack)
{
	const struct stack_node *stacks;
	uint32_t count;

	stacks = recording_stacks(symbolized_recording(frames->symbolized), &count);
	frames->path.count = 0;
	for (; stack != RECORDING_NONE; stack = stacks[stack].parent)
		if (!vec_push(&frames->path, stacks[stack].frame))
			return false;
	return true;
}

struct err *frame_json_put_stack(struct frame_json *frames, struct json_writer *json,
				 uint32_t stack)
{
	struct err *err = NULL;

	if (!take_path(frames, stack))
		return err_no_memory();
	json_array(json);
	for (size_t i = frames->path.count; !err && i-- > 0;) {
		const struct made_frame *made;

		err = made_of(frames, frames->path.items[i], &made);
		if (!err)
			json_made(json, made->text, made->size);
	}
	json_end(json);
	return err;
}

struct err *frame_json_put_plumbing(struct frame_json *frames, struct json_writer *json,
				    uint32_t stack)
{
	struct err *err = NULL;

	if (!take_path(frames, stack))
		return err_no_memory();
	json_array(json);
	for (size_t i = frames->path.count; !err && i-- > 0;) {
		const struct named_frame *lines;
		size_t count;

		err = symbolized_frame(frames->symbolized, frames->path.items[i], &lines, &count);
		while (!err && count-- > 0)
			json_bool(json, lines[count].plumbing);
	}
	json_end(json);
	return err;
}
