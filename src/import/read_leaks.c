/*
 * What was not freed, as text for people.
 *
 *	Direct leak of 500 byte(s) in 5 object(s) allocated from:          LeakSanitizer
 *	    #0 0x7f2100ab89cf in malloc ../asan_malloc_linux.cpp:69
 *	    #1 0x55fee66211b0 in grab /tmp/small.c:4               or (/usr/lib/libc.so.6+0x24249)
 *
 *	==3071== 1,148 (48 direct, 1,100 indirect) bytes in 1 blocks are definitely lost in …
 *	==3071==    at 0x48465EF: calloc (in /usr/libexec/valgrind/…)      memcheck
 *	==3071==    by 0x109286: main (small.c:7)
 *
 *		80 bytes in 5 allocations from stack                       bcc's memleak
 *			0x0000563a main+0x6d [allocs]                      with an address or not
 */
#include <inttypes.h>
#include <stdio.h>

#include "import/reader.h"
#include "import/stack.h"

struct leaks {
	struct import_text *text;
	struct import_sink *sink;
	struct import_stack stack; /* innermost frame first */
	struct sink_sum sum;       /* of that stack */
	bool open;                 /* its frames are being read */
	bool whole;                /* the summary at the end was read */
};

static void leaks_deinit(struct leaks *leaks)
{
	import_stack_deinit(&leaks->stack);
}

bool read_sanitizer_knows(struct span head)
{
	return span_find(head, "ERROR: LeakSanitizer: ") != NULL;
}

bool read_memcheck_knows(struct span head)
{
	return span_begins(head, "==") && span_find(head, "== Memcheck, a memory error detector");
}

bool read_memleak_knows(struct span head)
{
	return span_find(head, " stacks with outstanding allocations:") != NULL;
}

/* Puts the stack that is complete now. */
static struct err *close_stack(struct leaks *leaks)
{
	if (!leaks->open)
		return NULL;
	leaks->open = false;
	import_stack_turn(&leaks->stack);
	return sink_sum(leaks->sink, leaks->stack.frames.items, leaks->stack.frames.count,
			&leaks->sum);
}

static struct err *open_stack(struct leaks *leaks, uint64_t bytes, uint64_t blocks)
{
	struct err *err = close_stack(leaks);

	leaks->open = true;
	leaks->stack.frames.count = 0;
	leaks->sum.known = 1u << TRACE_SUM_LIVE_BLOCKS | 1u << TRACE_SUM_LIVE_BYTES;
	leaks->sum.values[TRACE_SUM_LIVE_BYTES] = bytes;
	leaks->sum.values[TRACE_SUM_LIVE_BLOCKS] = blocks;
	return err;
}

/* Takes "in grab /tmp/small.c:4" or "in malloc (/usr/lib/libc.so.6+0x24249) (BuildId: …)". */
static struct err *put_sanitizer_frame(struct leaks *leaks)
{
	struct import_text *text = leaks->text;
	struct frame_parts parts = {0};
	struct span rest;
	const char *end;
	uint64_t number;

	if (!text_decimal(text, &number) || !text_take(text, " ") ||
	    !text_address(text, &parts.address))
		return import_text_expected(text, "the number of a frame, and an address");
	text_skip_blanks(text);
	text_take(text, "in ");
	rest = text_rest(text);
	end = span_find(rest, " (BuildId: ");
	if (end)
		rest = span_before(rest, end);
	// (FILE+0xADDRESS)
	if (rest.size && rest.data[rest.size - 1] == ')' && span_find_last(rest, "(/")) {
		const char *open = span_find_last(rest, "(/");
		const char *plus = span_find_last(rest, "+0x");

		parts.function = span_trim(span_before(rest, open));
		parts.module = span_from(rest, open + 1);
		parts.module.size--;
		if (plus && plus > open) {
			parts.module = span_before(parts.module, plus);
			text->at = plus + 1;
			text_address(text, &parts.address);
			text->at = text->end;
		}
	} else {
		const char *blank = span_find_last(rest, " ");

		parts.function = blank ? span_before(rest, blank) : rest;
		if (blank)
			import_split_line(span_from(rest, blank + 1), &parts.file, &parts.line);
	}
	return import_stack_put(&leaks->stack, leaks->sink, &parts);
}

static struct err *take_sanitizer(struct leaks *leaks)
{
	struct import_text *text = leaks->text;
	uint64_t bytes, blocks;

	if (text_take(text, "Direct leak of ") || text_take(text, "Indirect leak of ")) {
		if (!text_decimal(text, &bytes) || !text_take(text, " byte(s) in ") ||
		    !text_decimal(text, &blocks))
			return import_text_expected(text, "bytes and a number of objects");
		return open_stack(leaks, bytes, blocks);
	}
	leaks->whole |= text_take(text, "SUMMARY: ");
	text_skip_blanks(text);
	if (leaks->open && text_take(text, "#"))
		return put_sanitizer_frame(leaks);
	return close_stack(leaks);
}

/* Takes a memcheck line without "==PID== ". */
static struct err *take_memcheck(struct leaks *leaks)
{
	struct import_text *text = leaks->text;
	uint64_t bytes, blocks, unused;
	const char *begin;

	if (!text_take(text, "==") || !text_decimal(text, &unused) || !text_take(text, "=="))
		return close_stack(leaks);
	if (text_take(text, " Command: "))
		return sink_command(leaks->sink, text_rest(text));
	text_skip_blanks(text);
	leaks->whole |= text_take(text, "LEAK SUMMARY:");
	if (leaks->open && (text_take(text, "at ") || text_take(text, "by ")))
		return import_stack_put_text(&leaks->stack, leaks->sink, text_rest(text));
	begin = text->at;
	// "1,148 (48 direct, 1,100 indirect)": those indirect ones have a record of their own.
	if (text_grouped(text, &bytes)) {
		if (text_take(text, " (") && !text_grouped(text, &bytes))
			return import_text_expected(text, "bytes that are lost directly");
		if (span_find((struct span){text->at, text_left(text)}, " in loss record ")) {
			text->at = span_find((struct span){text->at, text_left(text)}, "bytes in ");
			if (!text->at || !text_take(text, "bytes in ") ||
			    !text_grouped(text, &blocks)) {
				text->at = begin;
				return import_text_expected(text, "bytes in blocks");
			}
			return open_stack(leaks, bytes, blocks);
		}
	}
	text->at = begin;
	return close_stack(leaks);
}

/* Takes "0x0000563a main+0x6d [allocs]", without the address perhaps. */
static struct err *put_memleak_frame(struct leaks *leaks)
{
	struct import_text *text = leaks->text;
	struct frame_parts parts = {0};
	const char *open, *plus;

	if (text_address(text, &parts.address))
		text_skip_blanks(text);
	parts.function = span_trim(text_rest(text));
	open = span_find_last(parts.function, " [");
	if (open && parts.function.data[parts.function.size - 1] == ']') {
		parts.module = span_from(parts.function, open + 2);
		parts.module.size--;
		parts.function = span_trim(span_before(parts.function, open));
	}
	plus = span_find_last(parts.function, "+0x");
	if (plus)
		parts.function = span_before(parts.function, plus);
	if (span_is(parts.function, "[unknown]"))
		parts.function.size = 0;
	return import_stack_put(&leaks->stack, leaks->sink, &parts);
}

/* Takes "[11:16:33] Top 10 stacks …": a report of its own. Times are those of a day. */
static struct err *begin_report(struct leaks *leaks, uint64_t *first)
{
	struct import_text *text = leaks->text;
	uint64_t hours, minutes, seconds, now;
	struct err *err = close_stack(leaks);

	if (!text_decimal(text, &hours) || !text_take(text, ":") || !text_decimal(text, &minutes) ||
	    !text_take(text, ":") || !text_decimal(text, &seconds))
		return err; // another line in brackets
	now = (hours * 3600 + minutes * 60 + seconds) % 86400;
	if (*first == UINT64_MAX)
		*first = now;
	sink_time_next(leaks->sink, (now + 86400 - *first) % 86400 * UINT64_C(1000000000));
	return err;
}

static struct err *take_memleak(struct leaks *leaks, uint64_t *first)
{
	struct import_text *text = leaks->text;
	uint64_t bytes, blocks;
	const char *begin = text->at;

	if (text_take(text, "["))
		return begin_report(leaks, first);
	text_skip_blanks(text);
	if (text_decimal(text, &bytes) && text_take(text, " bytes in ") &&
	    text_decimal(text, &blocks) && text_take(text, " allocations from stack"))
		return open_stack(leaks, bytes, blocks);
	text->at = begin;
	text_skip_blanks(text);
	if (!text_left(text) || text_take(text, "addr = "))
		return NULL;
	if (leaks->open && text->at > begin)
		return put_memleak_frame(leaks);
	return close_stack(leaks);
}

enum leaks_of { OF_SANITIZER, OF_MEMCHECK, OF_MEMLEAK };

static struct err *read_leaks(struct import_input *input, struct import_sink *sink,
			      enum leaks_of of)
{
	cleanup(leaks_deinit) struct leaks leaks = {.text = &input->text, .sink = sink};
	uint64_t first = UINT64_MAX;
	bool more;
	struct err *err = import_text_line(&input->text, &more);

	while (!err && more) {
		err = of == OF_SANITIZER  ? take_sanitizer(&leaks)
		      : of == OF_MEMCHECK ? take_memcheck(&leaks)
					  : take_memleak(&leaks, &first);
		if (!err)
			err = import_text_line(&input->text, &more);
	}
	if (!err)
		err = close_stack(&leaks);
	if (!err && of != OF_MEMLEAK && !leaks.whole)
		err = err_create("%s: line %" PRIu64
				 ": the summary of leaks was expected, where it ends",
				 input->name, input->text.line);
	if (!err && !sink_is_aggregate(sink))
		err = err_create("%s: nothing in it that was not freed has a stack", input->name);
	return err;
}

struct err *read_sanitizer(struct import_input *input, struct import_sink *sink,
			   struct import_story *story)
{
	snprintf(story->origin, sizeof(story->origin), "leaks that LeakSanitizer found");
	story->at_end = true;
	return read_leaks(input, sink, OF_SANITIZER);
}

struct err *read_memcheck(struct import_input *input, struct import_sink *sink,
			  struct import_story *story)
{
	snprintf(story->origin, sizeof(story->origin), "leaks that valgrind's memcheck found");
	story->at_end = true;
	return read_leaks(input, sink, OF_MEMCHECK);
}

struct err *read_memleak(struct import_input *input, struct import_sink *sink,
			 struct import_story *story)
{
	snprintf(story->origin, sizeof(story->origin), "the top stacks of memleak");
	return read_leaks(input, sink, OF_MEMLEAK);
}
