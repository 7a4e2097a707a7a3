#include "analysis/findings/finding_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/names/frame_label.h"
#include "analysis/names/function_name.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

static void put_escaped(struct buf *buf, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (strchr("\\^$.|?*+()[]{}", text[i]))
			buf_char(buf, '\\');
		buf_char(buf, text[i]);
	}
}

/*
 * Writes the pattern of a readable name: "^main$", "^Cache::put\(". exact: of all of it, with its
 * parameters, because another function differs only in these.
 */
static void function_pattern_put(struct buf *buf, const char *name, bool exact)
{
	size_t length = exact ? strlen(name) : function_name_length(name);

	buf_char(buf, '^');
	put_escaped(buf, name, length);
	buf_text(buf, exact || !name[length] ? "$" : "\\(");
}

struct err *finding_search_add(struct finding_search *search, const struct finding *finding)
{
	return vec_push(&search->found, *finding) ? NULL : err_no_memory();
}

struct err *finding_condition_text(struct finding *finding, const char *name, const char *value)
{
	if (!value)
		return err_no_memory();
	finding->conditions[finding->condition_count++] = (struct finding_condition){name, value};
	return NULL;
}

struct err *finding_condition_u64(struct finding_search *search, struct finding *finding,
				  const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return finding_condition_text(finding, name, arena_text(search->arena, text));
}

struct err *finding_condition_ns(struct finding_search *search, struct finding *finding,
				 const char *name, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "ns", ns);
	return finding_condition_text(finding, name, arena_text(search->arena, text));
}

void finding_show_function(struct finding *finding, const struct picked_function *picked)
{
	finding->frame = picked->own ? picked->frame : NULL;
	finding->stack = picked->stack;
	finding->lines = picked->lines;
	finding->call = picked->call;
	finding->call_most = is_percent(picked->call_value, picked->value, 90);
	finding->inclusive = picked->inclusive;
}

/* Adds the condition that a frame is in that source file. */
static struct err *set_source(struct finding_search *search, struct finding *finding,
			      const char *file)
{
	cleanup(buf_deinit) struct buf pattern = BUF_EMPTY;
	const char *text;

	buf_char(&pattern, '^');
	put_escaped(&pattern, file, strlen(file));
	buf_char(&pattern, '$');
	text = buf_string(&pattern);
	return finding_condition_text(finding, "source_regex",
				      text ? arena_text(search->arena, text) : NULL);
}

struct err *finding_set_function(struct finding_search *search, struct finding *finding,
				 const struct picked_function *picked)
{
	const struct named_frame *frame = picked->frame;
	cleanup(buf_deinit) struct buf pattern = BUF_EMPTY, name = BUF_EMPTY;
	const char *text;
	bool overloaded;

	finding_show_function(finding, picked);
	if (!frame)
		return NULL;
	overloaded = own_functions_is_overloaded(search->functions, picked->number);
	// Functions of scripts have their files to be told apart by.
	if (overloaded && frame->script && picked->inclusive) {
		struct err *err = set_source(search, finding, frame->file);

		if (err)
			return err;
	}
	if (overloaded && frame->script && !picked->inclusive)
		frame_label_of_function(&name, frame);
	else
		buf_text(&name, frame->function);
	if (buf_string(&name))
		function_pattern_put(&pattern, name.data, overloaded);
	text = name.failure ? NULL : buf_string(&pattern);
	return finding_condition_text(finding,
				      picked->inclusive ? "function_regex" : "allocated_by",
				      text ? arena_text(search->arena, text) : NULL);
}
