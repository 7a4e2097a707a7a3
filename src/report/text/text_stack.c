#include "report/text/text_stack.h"

#include <assert.h>

#include "hosted/cleanup.h"
#include "report/format.h"
#include "report/stack_lines.h"

#define SHOWN_INNERMOST 24
#define SHOWN_OUTERMOST 8

struct err *text_stack_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     uint32_t node, unsigned indent)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	struct err *err = stack_lines_make(style, symbolized, node, &lines);
	size_t count;

	if (err)
		return err;
	count = lines.list.count;
	if (!count) {
		buf_repeat(buf, ' ', indent);
		buf_text(buf, "(no stack)\n");
	}
	assert(lines.list.items || !count);
	for (size_t i = 0; i < count; i++) {
		if (!style->full && i == SHOWN_INNERMOST &&
		    count > SHOWN_INNERMOST + SHOWN_OUTERMOST + 1) {
			unsigned hidden = 0;

			for (; i < count - SHOWN_OUTERMOST; i++)
				hidden += stack_line_frames(&lines.list.items[i]);
			buf_repeat(buf, ' ', indent);
			style_printf(buf, style, STYLE_DIM, "\xe2\x80\xa6 %s (--full shows them)\n",
				     format_counted(hidden, "frame", true).text);
		}
		buf_repeat(buf, ' ', indent);
		stack_line_put(buf, style, &lines.list.items[i], indent);
		buf_char(buf, '\n');
	}
	return NULL;
}
