#include "report/text/text_stack.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/views/stack_lines.h"

#define SHOWN_MOST 33 /* lines of a very deep stack */

/* Writes how many frames stand between two lines. */
static void put_hidden(struct buf *buf, const struct style *style, const struct stack_line *lines,
		       size_t count, unsigned indent, bool brief)
{
	unsigned hidden = 0;

	for (size_t i = 0; i < count; i++)
		hidden += stack_line_frames(&lines[i]);
	buf_repeat(buf, ' ', indent);
	style_printf(buf, style, STYLE_DIM, "\xe2\x80\xa6 %s (%s)\n",
		     format_counted(hidden, "frame", true).text,
		     brief ? "--top N" : "--full shows them");
}

static bool is_own(const struct stack_line *line)
{
	return !line->folded && named_frame_is_own(line->frame);
}

/* Which lines of a stack are written. */
struct shown {
	const struct stack_line *lines;
	size_t count;
	bool *marks;  /* of each line */
	size_t taken; /* lines of text: marked lines, and one for each run of others */
};

static void mark_line(struct shown *shown, size_t i)
{
	bool before = i && !shown->marks[i - 1];
	bool after = i + 1 < shown->count && !shown->marks[i + 1];

	if (shown->marks[i])
		return;
	shown->marks[i] = true;
	shown->taken += before + after; // one run of hidden lines becomes none, one or two
}

/* Marks the innermost and the outermost own line, and the innermost line of each named function. */
static void mark_named(struct shown *shown, const struct stack_named *named)
{
	size_t first = shown->count, last = shown->count;

	for (size_t i = 0; i < shown->count; i++) {
		if (!is_own(&shown->lines[i]))
			continue;
		first = first < shown->count ? first : i;
		last = i;
	}
	if (last == shown->count)
		return;
	mark_line(shown, first);
	mark_line(shown, last);
	for (unsigned k = 0; named && k < named->count; k++) {
		size_t i = first;

		while (i < shown->count &&
		       strcmp(shown->lines[i].frame->function, named->functions[k]) != 0)
			i++;
		if (i < shown->count)
			mark_line(shown, i);
	}
}

/* Marks lines from both ends, three of four from the inner one, until so many are taken. */
static void mark_ends(struct shown *shown, size_t most)
{
	size_t end = shown->count, outer = most / 4;

	while (outer-- && end && shown->taken < most)
		mark_line(shown, --end);
	for (size_t i = 0; i < end && shown->taken < most; i++)
		mark_line(shown, i);
}

void stack_named_add(struct stack_named *named, const struct named_frame *frame)
{
	if (frame && named->count < STACK_NAMED_MAX)
		named->functions[named->count++] = frame->function;
}

struct err *text_stack_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     uint32_t node, unsigned indent, unsigned most,
			     const struct stack_named *named)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	auto_free bool *marks = NULL;
	struct err *err = stack_lines_make(style, symbolized, node, &lines);
	struct shown shown;
	size_t end;

	if (err)
		return err;
	shown = (struct shown){.lines = lines.list.items, .count = lines.list.count, .taken = 1};
	shown.marks = marks = calloc(shown.count + 1, sizeof(*marks));
	if (!marks)
		return err_no_memory();
	if (!shown.count) {
		buf_repeat(buf, ' ', indent);
		buf_text(buf, "(no stack)\n");
	}
	if (style->full || shown.count <= (most ? most : SHOWN_MOST)) {
		memset(marks, true, shown.count * sizeof(*marks));
	} else {
		mark_named(&shown, named);
		mark_ends(&shown, most ? most : SHOWN_MOST);
	}
	for (size_t i = 0; i < shown.count; i = end) {
		for (end = i; end < shown.count && !marks[end]; end++)
			;
		if (end > i + 1) { // a line for one line would be no shorter
			put_hidden(buf, style, &shown.lines[i], end - i, indent, most != 0);
			continue;
		}
		buf_repeat(buf, ' ', indent);
		stack_line_put(buf, style, &shown.lines[i], indent);
		buf_char(buf, '\n');
		end = i + 1;
	}
	return NULL;
}
