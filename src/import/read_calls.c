/*
 * Logs of the calls of malloc, a line each. glibc's mtrace() has the place of the caller,
 *valgrind's
 * --trace-malloc=yes nothing of it. Neither has times.
 *
 *	= Start                                             mtrace
 *	@ ./small:(leak+0x1b)[0x11b1] + 0x56279c79a4a0 0x64       a block of 0x64 bytes
 *	@ ./small:[0x1268] < 0x56279c79a6d0                       what realloc() took,
 *	@ ./small:[0x1268] > 0x56279c79a6d0 0x1388                and gave
 *	@ ./small:[0x1278] - 0x56279c79a6d0                       free
 *
 *	--2408-- malloc(100) = 0x4A43040                    valgrind; also calloc(3,16), memalign …,
 *	--2408-- realloc(0x4A433B0,5000) = 0x4A437E0        and _Znwm(100)
 *	--2408-- free(0x4A437E0)
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/reader.h"
#include "import/stack.h"

bool read_mtrace_knows(struct span head)
{
	return span_begins(head, "= Start\n");
}

bool read_trace_malloc_knows(struct span head)
{
	return (span_begins(head, "==") || span_begins(head, "--")) &&
	       (span_find(head, "-- malloc(") || span_find(head, "-- _Znw") ||
		span_find(head, "-- calloc("));
}

/*
 * Takes the place of an mtrace line: FILE:(FUNCTION+OFFSET)[ADDRESS], or FILE:[ADDRESS], in which
 * the address is that in the file.
 */
static struct err *take_place(struct import_text *text, struct import_sink *sink,
			      struct import_stack *stack)
{
	struct span place = {text->at, text_left(text)};
	const char *end = span_find(place, "] "), *open;
	struct frame_parts parts = {0};

	stack->frames.count = 0;
	place.size = end ? (size_t)(end - place.data) : 0;
	open = span_find_last(place, "[");
	if (!open)
		return import_text_expected(text, "a place: FILE:[ADDRESS]");
	parts.module = span_before(place, open);
	text->at = open + 1;
	if (!text_address(text, &parts.address) || !text_take(text, "] "))
		return import_text_expected(text, "an address and ']'");
	parts.address--; // of the call
	end = span_find_last(parts.module, ":");
	if (!end)
		return import_text_expected(text, "FILE and ':'");
	place = span_from(parts.module, end + 1);
	parts.module = span_before(parts.module, end);
	if (place.size > 2 && *place.data == '(') {
		const char *plus = span_find_last(place, "+");

		if (plus)
			parts.function =
				(struct span){place.data + 1, (size_t)(plus - place.data) - 1};
	}
	return import_stack_put(stack, sink, &parts);
}

static struct err *take_mtrace(struct import_text *text, struct import_sink *sink,
			       struct import_stack *stack)
{
	uint64_t address, size;
	struct err *err = NULL;
	char what;

	stack->frames.count = 0;
	if (text_take(text, "@ "))
		err = take_place(text, sink, stack);
	if (err || !text_left(text) || text_take(text, "= "))
		return err;
	what = *text->at++;
	if (!memchr("+-<>!", what, 5) || !text_take(text, " ") || !text_address(text, &address))
		return import_text_expected(text, "'+', '-', '<' or '>', and an address");
	if (what == '!') // realloc failed
		return NULL;
	if (what == '-' || what == '<') {
		sink_free(sink, address);
		return NULL;
	}
	if (!text_take(text, " ") || !text_address(text, &size))
		return import_text_expected(text, "a size");
	sink_allocate(sink, address, size, stack->frames.items, stack->frames.count);
	return NULL;
}

struct err *read_mtrace(struct import_input *input, struct import_sink *sink,
			struct import_story *story)
{
	cleanup(import_stack_deinit) struct import_stack stack = {0};
	struct import_text *text = &input->text;
	bool more;
	struct err *err = import_text_line(text, &more);

	snprintf(story->origin, sizeof(story->origin), "mtrace, without times");
	story->at_end = true;
	sink_begun_before(sink);
	// A line that does not end: the program was killed.
	while (!err && more && !text->cut) {
		err = take_mtrace(text, sink, &stack);
		if (!err)
			err = import_text_line(text, &more);
	}
	story->at_end = !text->cut;
	return err;
}

/* Takes the numbers between the brackets of a call: at most two. */
static bool take_arguments(struct import_text *text, uint64_t values[2], size_t *count)
{
	for (*count = 0; *count < 2; ++*count) {
		text_take(text, "al "); // memalign(al 16, size 100)
		text_take(text, "size ");
		if (!text_address(text, &values[*count]) && !text_decimal(text, &values[*count]))
			return false;
		if (text_take(text, ")"))
			return ++*count;
		if (!text_take(text, ", ") && !text_take(text, ","))
			return false;
	}
	return false;
}

/* Takes one call. Lines that are none are passed over: the log has valgrind's other words, too. */
static void take_call(struct import_text *text, struct import_sink *sink)
{
	const char *open = memchr(text->at, '(', text_left(text));
	uint64_t values[2] = {0}, result = 0;
	struct span name;
	size_t count;
	bool releases;

	if (!open)
		return;
	name = (struct span){text->at, (size_t)(open - text->at)};
	text->at = open + 1;
	if (!take_arguments(text, values, &count))
		return;
	releases = span_is(name, "free") || span_begins(name, "_Zd");
	if (releases || span_is(name, "realloc"))
		if (values[0])
			sink_free(sink, values[0]);
	if (releases || !text_take(text, " = ") || !text_address(text, &result) || !result)
		return;
	if (span_is(name, "calloc") && __builtin_mul_overflow(values[0], values[1], &values[0]))
		return;
	if (count == 2 && !span_is(name, "calloc"))
		values[0] = values[1]; // behind the old block, or the alignment
	sink_allocate(sink, result, values[0], NULL, 0);
}

struct err *read_trace_malloc(struct import_input *input, struct import_sink *sink,
			      struct import_story *story)
{
	struct import_text *text = &input->text;
	uint64_t pid;
	bool more;
	struct err *err = import_text_line(text, &more);

	snprintf(story->origin, sizeof(story->origin),
		 "valgrind --trace-malloc, without stacks and times");
	story->at_end = true;
	while (!err && more && !text->cut) {
		if (text_take(text, "--") && text_decimal(text, &pid) && text_take(text, "-- "))
			take_call(text, sink);
		else if (text_take(text, "==") && text_decimal(text, &pid) &&
			 text_take(text, "== Command: "))
			err = sink_command(sink, text_rest(text));
		if (!err)
			err = import_text_line(text, &more);
	}
	return err;
}
