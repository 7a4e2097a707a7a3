#include "report/text/text_stack.h"

#include <assert.h>

#include "hosted/cleanup.h"
#include "report/format.h"
#include "report/stack_lines.h"

#define SHOWN_INNERMOST 24
#define SHOWN_OUTERMOST 8

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

struct err *text_stack_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     uint32_t node, unsigned indent, unsigned most)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	struct err *err = stack_lines_make(style, symbolized, node, &lines);
	size_t count, inner, outer;

	if (err)
		return err;
	count = lines.list.count;
	if (!count) {
		buf_repeat(buf, ' ', indent);
		buf_text(buf, "(no stack)\n");
	}
	assert(lines.list.items || !count);
	outer = most ? most / 4 : SHOWN_OUTERMOST;
	inner = most ? most - 1 - outer : SHOWN_INNERMOST;
	if (style->full || count <= inner + 1 + outer)
		inner = count; // a line for one line would be no shorter
	for (size_t i = 0; i < count; i++) {
		if (i == inner) {
			put_hidden(buf, style, &lines.list.items[i], count - outer - i, indent,
				   most != 0);
			i = count - outer;
			if (!outer)
				break;
		}
		buf_repeat(buf, ' ', indent);
		stack_line_put(buf, style, &lines.list.items[i], indent);
		buf_char(buf, '\n');
	}
	return NULL;
}
