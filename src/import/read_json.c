/*
 * Profiles as JSON.
 *
 * DHAT (valgrind's dhat/dh_main.c; also Rust's dhat crate): a program point for each stack,
 * innermost frame first.
 *
 *	{"dhatFileVersion":2, "mode":"heap", "bklt":true, "cmd":"./small", "pid":3148,
 *	 "pps":[{"tb":500,"tbk":5,            bytes and blocks allocated in all,
 *	         "mb":500,                    at most live of this stack,
 *	         "gb":500,"gbk":5,            live when most was live of all,
 *	         "eb":500,"ebk":5,            live at the end
 *	         "fs":[1,2]}],                indices in
 *	 "ftbl":["[root]","0x1091B0: grab (small.c:5)"]}
 *
 * memray stats --json: sums of the whole, and of the few places with most.
 *
 *	{"total_num_allocations":222, "total_bytes_allocated":6291952,
 *	 "top_allocations_by_size":[{"location":"main:m.py:8","size":5000001}],
 *	 "metadata":{"pid":1, "command_line":"memray run m.py", "peak_memory":5000001}}
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "import/json_reader.h"
#include "import/reader.h"
#include "import/stack.h"

struct point {
	size_t first, count; /* of its frames, in `indices` */
	uint64_t values[TRACE_SUMS];
};

struct document {
	struct import_sink *sink;
	struct json_reader json;
	struct arena arena;
	VEC(struct point) points;
	VEC(uint64_t) indices;
	struct import_stack table; /* all frames of DHAT */
	struct import_stack stack;
	bool found;     /* its program points are there */
	bool lifetimes; /* DHAT saw blocks end: it knows what was live, and the peak */
	uint64_t rest;  /* bytes of memray that none of its places has */
};

static void document_deinit(struct document *document)
{
	arena_deinit(&document->arena);
	vec_deinit(&document->points);
	vec_deinit(&document->indices);
	import_stack_deinit(&document->table);
	import_stack_deinit(&document->stack);
}

bool read_dhat_knows(struct span head)
{
	return span_find(head, "\"dhatFileVersion\"") != NULL;
}

bool read_memray_stats_knows(struct span head)
{
	return span_begins(span_trim(head), "{") && span_find(head, "\"total_num_allocations\"") &&
	       span_find(head, "\"total_bytes_allocated\"");
}

/* Begins to read the file, which must stay in place. */
static struct err *document_open(struct import_input *input, struct document *document)
{
	struct span bytes;
	struct err *err = import_text_all(&input->text, &bytes);

	if (err)
		return err;
	document->json = (struct json_reader){
		.name = input->name,
		.start = bytes.data,
		.at = bytes.data,
		.end = bytes.data + bytes.size,
		.arena = &document->arena,
	};
	return NULL;
}

static struct err *take_point(struct document *document)
{
	static const struct {
		const char *key;
		enum trace_sum sum;
	} keys[] = {
		{"tb", TRACE_SUM_BYTES},          {"tbk", TRACE_SUM_CALLS},
		{"mb", TRACE_SUM_OWN_PEAK_BYTES}, {"gb", TRACE_SUM_PEAK_BYTES},
		{"gbk", TRACE_SUM_PEAK_BLOCKS},   {"eb", TRACE_SUM_LIVE_BYTES},
		{"ebk", TRACE_SUM_LIVE_BLOCKS},
	};
	struct json_reader *json = &document->json;
	struct point point = {.first = document->indices.count};
	struct span key;

	json_reader_enter(json, '{');
	while (json_reader_key(json, &key)) {
		size_t i = 0;

		while (i < ARRAY_COUNT(keys) && !span_is(key, keys[i].key))
			i++;
		if (i < ARRAY_COUNT(keys)) {
			point.values[keys[i].sum] = json_reader_number(json);
		} else if (span_is(key, "fs")) {
			json_reader_enter(json, '[');
			while (json_reader_item(json))
				if (!vec_push(&document->indices, json_reader_number(json)))
					return err_no_memory();
		} else {
			json_reader_skip(json);
		}
	}
	point.count = document->indices.count - point.first;
	return vec_push(&document->points, point) ? NULL : err_no_memory();
}

/* DHAT counts other things, too: bytes that are copied, or whatever the program says. */
static struct err *check_mode(const struct document *document, struct span mode)
{
	if (span_is(mode, "heap") || span_is(mode, "rust-heap"))
		return NULL;
	return err_create("%s: DHAT counted something else than the heap: \"mode\" is '%.*s'",
			  document->json.name, mode.size < 20 ? (int)mode.size : 20,
			  mode.size ? mode.data : "");
}

/* Takes a member of DHAT's document. */
static struct err *take_dhat(struct document *document, struct span key)
{
	struct json_reader *json = &document->json;
	struct err *err = NULL;

	if (span_is(key, "cmd"))
		return sink_command(document->sink, json_reader_text(json));
	if (span_is(key, "mode"))
		return check_mode(document, json_reader_text(json));
	if (span_is(key, "dhatFileVersion")) {
		if (json_reader_number(json) != 2)
			err = err_create(
				"%s: mallow reads version 2 of DHAT's file, which this is not",
				json->name);
		return err;
	}
	document->found |= span_is(key, "pps");
	if (span_is(key, "pid")) {
		sink_pid(document->sink, (uint32_t)json_reader_number(json));
	} else if (span_is(key, "bklt")) {
		const char *at = json->at;

		json_reader_skip(json);
		document->lifetimes = memchr(at, 't', (size_t)(json->at - at));
	} else if (span_is(key, "pps")) {
		json_reader_enter(json, '[');
		while (!err && json_reader_item(json))
			err = take_point(document);
	} else if (span_is(key, "ftbl")) {
		json_reader_enter(json, '[');
		while (!err && json_reader_item(json))
			err = import_stack_put_text(&document->table, document->sink,
						    json_reader_text(json));
	} else {
		json_reader_skip(json);
	}
	return err;
}

static struct err *put_point(struct document *document, const struct point *point)
{
	struct sink_sum sum = {
		.known = document->lifetimes ? (1u << TRACE_SUM_TEMPORARY) - 1
					     : 1u << TRACE_SUM_CALLS | 1u << TRACE_SUM_BYTES,
	};
	struct err *err = NULL;

	memcpy(sum.values, point->values, sizeof(sum.values));
	document->stack.frames.count = 0;
	for (size_t i = point->count; !err && i-- > 0;) {
		uint64_t index = document->indices.items[point->first + i];

		if (index >= document->table.frames.count)
			return err_create("%s: a program point names frame %" PRIu64
					  ", where 'ftbl' has %zu",
					  document->json.name, index, document->table.frames.count);
		err = import_stack_push(&document->stack, document->table.frames.items[index].id,
					0);
	}
	return err ? err
		   : sink_sum(document->sink, document->stack.frames.items,
			      document->stack.frames.count, &sum);
}

struct err *read_dhat(struct import_input *input, struct import_sink *sink,
		      struct import_story *story)
{
	cleanup(document_deinit) struct document document = {.sink = sink, .lifetimes = true};
	struct err *err = document_open(input, &document);
	struct span key;

	snprintf(story->origin, sizeof(story->origin), "DHAT");
	story->at_end = true;
	if (err)
		return err;
	json_reader_enter(&document.json, '{');
	while (!err && json_reader_key(&document.json, &key))
		err = take_dhat(&document, key);
	if (!err)
		err = json_reader_finish(&document.json);
	if (!err && !document.found)
		err = err_create("%s: \"pps\" was expected in a file of DHAT's", input->name);
	for (size_t i = 0; !err && i < document.points.count; i++)
		err = put_point(&document, &document.points.items[i]);
	return err;
}

/* Takes one of memray's places, whose location is FUNCTION:FILE:LINE. */
static struct err *take_place(struct document *document)
{
	struct json_reader *json = &document->json;
	struct sink_sum sum = {.known = 1u << TRACE_SUM_BYTES};
	struct span key, location = {0}, place;
	const char *colon, *function, *file;
	uint32_t line, frame = 0;
	struct err *err;

	json_reader_enter(json, '{');
	while (json_reader_key(json, &key)) {
		if (span_is(key, "location"))
			location = json_reader_text(json);
		else if (span_is(key, "size"))
			sum.values[TRACE_SUM_BYTES] = json_reader_number(json);
		else
			json_reader_skip(json);
	}
	if (json->expected)
		return NULL;
	import_split_line(location, &place, &line);
	colon = span_find(place, ":");
	if (!colon)
		return err_create("%s: a location FUNCTION:FILE:LINE was expected", json->name);
	err = sink_text(document->sink, span_before(place, colon), &function);
	if (!err)
		err = sink_text(document->sink, span_from(place, colon + 1), &file);
	if (!err)
		err = sink_script(document->sink, function, file, line, &frame);
	document->rest -= sum.values[TRACE_SUM_BYTES] < document->rest ? sum.values[TRACE_SUM_BYTES]
								       : document->rest;
	return err ? err : sink_sum(document->sink, &(struct record_frame){.id = frame}, 1, &sum);
}

struct err *read_memray_stats(struct import_input *input, struct import_sink *sink,
			      struct import_story *story)
{
	cleanup(document_deinit) struct document document = {.sink = sink};
	struct sink_sum rest = {.known = 1u << TRACE_SUM_BYTES};
	struct json_reader *json = &document.json;
	struct err *err = document_open(input, &document);
	struct span key;

	snprintf(story->origin, sizeof(story->origin), "memray stats, of the places with most");
	story->at_end = true;
	if (err)
		return err;
	json_reader_enter(json, '{');
	while (!err && json_reader_key(json, &key)) {
		if (span_is(key, "total_bytes_allocated")) {
			document.rest = json_reader_number(json);
		} else if (span_is(key, "top_allocations_by_size")) {
			json_reader_enter(json, '[');
			while (!err && json_reader_item(json))
				err = take_place(&document);
		} else {
			json_reader_skip(json);
		}
	}
	if (!err)
		err = json_reader_finish(json);
	rest.values[TRACE_SUM_BYTES] = document.rest;
	return err ? err : sink_sum(sink, NULL, 0, &rest);
}
