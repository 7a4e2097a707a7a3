/*
 * Collapsed stacks, as flamegraph.pl reads them: a stack in a line, the outermost function first,
 * and a number. What the number counts the file does not say; bytes that are live are what most
 * tools write.
 *
 *	main;parse;read_body [libfoo.so] 4096
 */
#include <stdio.h>

#include "import/reader.h"
#include "import/stack.h"

/* Splits a line at the blank before its number. false: there is none. */
static bool split(struct span line, struct span *stack, struct span *number)
{
	const char *blank = span_find_last(line, " ");

	if (!blank || blank == line.data)
		return false;
	*stack = span_before(line, blank);
	*number = span_from(line, blank + 1);
	for (size_t i = 0; i < number->size; i++)
		if (number->data[i] < '0' || number->data[i] > '9')
			return false;
	return number->size;
}

/*
 * Whether all whole lines are such, and a stack has more than one function. Where a blank follows a
 * semicolon it is prose, or a log.
 */
bool read_collapsed_knows(struct span head)
{
	struct span stack, number;
	bool deep = false;
	const char *end;

	if (!memchr(head.data, '\n', head.size) || span_find(head, "; "))
		return false;
	while ((end = memchr(head.data, '\n', head.size))) {
		struct span line = span_before(head, end);

		if (line.size && *line.data != '#' && !split(line, &stack, &number))
			return false;
		deep |= line.size && *line.data != '#' && memchr(line.data, ';', line.size);
		head = span_from(head, end + 1);
	}
	return deep;
}

/* Appends a function, which may have its library behind it in brackets. */
static struct err *put_function(struct import_stack *stack, struct import_sink *sink,
				struct span text)
{
	struct frame_parts parts = {.function = text};
	const char *open =
		text.size && text.data[text.size - 1] == ']' ? span_find_last(text, " [") : NULL;

	if (open) {
		parts.function = span_before(text, open);
		parts.module = span_from(text, open + 2);
		parts.module.size--;
	}
	return import_stack_put(stack, sink, &parts);
}

static struct err *put_stack(struct import_stack *stack, struct import_sink *sink, struct span text)
{
	struct err *err = NULL;
	const char *end;

	stack->frames.count = 0;
	while (!err && (end = memchr(text.data, ';', text.size))) {
		err = put_function(stack, sink, span_before(text, end));
		text = span_from(text, end + 1);
	}
	return err ? err : put_function(stack, sink, text);
}

struct err *read_collapsed(struct import_input *input, struct import_sink *sink,
			   struct import_story *story)
{
	cleanup(import_stack_deinit) struct import_stack stack = {0};
	struct sink_sum sum = {.known = 1u << TRACE_SUM_LIVE_BYTES};
	struct import_text *text = &input->text;
	struct span path, number;
	bool more;
	struct err *err = import_text_line(text, &more);

	snprintf(story->origin, sizeof(story->origin),
		 "collapsed stacks, numbers are taken as live bytes");
	while (!err && more) {
		struct span line = {text->at, text_left(text)};

		if (line.size && *line.data != '#') {
			if (!split(line, &path, &number))
				return import_text_expected(text, "a stack and a number");
			text->at = number.data;
			if (!text_decimal(text, &sum.values[TRACE_SUM_LIVE_BYTES]))
				return import_text_expected(text, "a number of 64 bits");
			err = put_stack(&stack, sink, path);
			if (!err)
				err = sink_sum(sink, stack.frames.items, stack.frames.count, &sum);
		}
		if (!err)
			err = import_text_line(text, &more);
	}
	return err;
}
