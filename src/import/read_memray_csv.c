/*
 * What `memray transform csv` writes: what was live at the peak, or with --leaks at the end. A row
 * for each stack, innermost function first; texts are quoted as in RFC 4180 where they must be.
 *
 *	allocator,num_allocations,size,tid,thread_name,stack_trace
 *	MALLOC,1,1340,1,0x1,leak;m.py;5|main;m.py;7
 */
#include <stdio.h>

#include "import/reader.h"
#include "import/stack.h"

static const char head_line[] = "allocator,num_allocations,size,tid,thread_name,stack_trace";

bool read_memray_knows(struct span head)
{
	return span_begins(head, head_line);
}

/* Takes a field, which ends at a comma or at the end. Quotes within it stay doubled. */
static struct span take_field(struct import_text *text)
{
	struct span field = {text->at, 0};
	bool quoted = text_take(text, "\"");

	field.data = text->at;
	while (text->at < text->end) {
		if (quoted && *text->at == '"') {
			field.size = (size_t)(text->at - field.data);
			text->at++;
			if (text->at == text->end || *text->at != '"')
				break;
		} else if (!quoted && *text->at == ',') {
			break;
		}
		text->at++;
	}
	if (!quoted)
		field.size = (size_t)(text->at - field.data);
	text_take(text, ",");
	return field;
}

/* Appends FUNCTION;FILE;LINE. */
static struct err *put_frame(struct import_sink *sink, struct import_stack *stack, struct span text)
{
	const char *second = span_find_last(text, ";"), *first;
	const char *function, *file;
	struct span before;
	uint32_t line = 0, frame = 0;
	struct err *err;

	if (!second)
		return NULL;
	for (const char *c = second + 1; c < text.data + text.size && *c >= '0' && *c <= '9'; c++)
		line = line * 10 + (uint32_t)(*c - '0');
	before = span_before(text, second);
	first = span_find(before, ";");
	if (!first)
		return NULL;
	err = sink_text(sink, span_before(before, first), &function);
	if (!err)
		err = sink_text(sink, span_from(before, first + 1), &file);
	if (!err)
		err = sink_script(sink, function, file, line, &frame);
	return err ? err : import_stack_push(stack, frame, 0);
}

static struct err *take_row(struct import_text *text, struct import_sink *sink,
			    struct import_stack *stack)
{
	struct sink_sum sum = {.known = 1u << TRACE_SUM_LIVE_BLOCKS | 1u << TRACE_SUM_LIVE_BYTES};
	struct span trace;
	struct err *err = NULL;
	const char *end;

	take_field(text);
	if (!text_decimal(text, &sum.values[TRACE_SUM_LIVE_BLOCKS]) || !text_take(text, ",") ||
	    !text_decimal(text, &sum.values[TRACE_SUM_LIVE_BYTES]) || !text_take(text, ","))
		return import_text_expected(text, "a number of allocations, and bytes");
	take_field(text);
	take_field(text);
	trace = take_field(text);
	stack->frames.count = 0;
	while (!err && trace.size) {
		end = memchr(trace.data, '|', trace.size);
		err = put_frame(sink, stack, end ? span_before(trace, end) : trace);
		trace = end ? span_from(trace, end + 1) : (struct span){0};
	}
	import_stack_turn(stack);
	return err ? err : sink_sum(sink, stack->frames.items, stack->frames.count, &sum);
}

struct err *read_memray(struct import_input *input, struct import_sink *sink,
			struct import_story *story)
{
	cleanup(import_stack_deinit) struct import_stack stack = {0};
	struct import_text *text = &input->text;
	bool more;
	struct err *err = import_text_line(text, &more);

	snprintf(story->origin, sizeof(story->origin), "memray, by its transform to CSV");
	if (!err)
		err = import_text_line(text, &more);
	while (!err && more) {
		if (text->cut)
			return import_text_expected(text, "a row that ends");
		if (text_left(text))
			err = take_row(text, sink, &stack);
		if (!err)
			err = import_text_line(text, &more);
	}
	return err;
}
