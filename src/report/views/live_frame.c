#include "report/views/live_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct err *live_frame_lines(const struct style *style, struct symbolized *symbolized,
			     uint32_t stack, uint32_t depth, struct stack_lines *ret)
{
	struct err *err = stack_lines_make(style, symbolized, stack, ret);
	size_t printed = 0;

	while (!err && printed < ret->list.count &&
	       (style->full ? ret->list.items[printed].number : printed) < depth)
		printed++;
	ret->list.count = printed;
	return err;
}

/* "0 [0x7fe72e46476c] ", "12 [      0xf27811] "; what is no code has no address. */
static size_t put_address(struct buf *buf, unsigned number, uint64_t pc, bool shown)
{
	char text[40], address[24] = "";

	if (pc > TRACE_PC_LAST_SPECIAL)
		snprintf(address, sizeof(address), "0x%" PRIx64, pc);
	snprintf(text, sizeof(text), "%u [%14s] ", number, address);
	if (shown)
		buf_text(buf, text);
	else
		buf_repeat(buf, ' ', strlen(text));
	return strlen(text);
}

void live_frame_put(struct buf *buf, const struct style *style, const struct recording *recording,
		    const struct stack_line *line, const struct stack_line *before)
{
	uint32_t unused;
	uint32_t frame = recording_stacks(recording, &unused)[line->node].frame;
	uint64_t pc = recording_frames(recording, &unused)[frame].pc;
	size_t column =
		put_address(buf, line->number, pc, !before || before->number != line->number);

	stack_line_put(buf, style, line, column);
	buf_char(buf, '\n');
}
