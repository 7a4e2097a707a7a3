#include "report/live_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/frame_text.h"

/* "0 [0x7fe72e46476c] ", "12 [      0xf27811] "; what is no code has no address. */
static size_t put_address(struct buf *buf, unsigned number, uint64_t pc)
{
	char text[40], address[24] = "";

	if (pc > TRACE_PC_LAST_SPECIAL)
		snprintf(address, sizeof(address), "0x%" PRIx64, pc);
	snprintf(text, sizeof(text), "%u [%14s] ", number, address);
	buf_text(buf, text);
	return strlen(text);
}

struct err *live_frame_put(struct buf *buf, const struct style *style,
			   const struct recording *recording, struct symbolized *symbolized,
			   uint32_t frame, unsigned number)
{
	struct style with_offsets = *style;
	const struct named_frame *lines;
	size_t count, column;
	uint32_t unused;
	struct err *err = symbolized_frame(symbolized, frame, &lines, &count);

	if (err)
		return err;
	with_offsets.offsets = true;
	column = put_address(buf, number, recording_frames(recording, &unused)[frame].pc);
	for (size_t i = 0; i < count; i++) {
		buf_repeat(buf, ' ', i ? column : 0);
		frame_text_line(buf, &with_offsets, &lines[i], column, 1);
		buf_char(buf, '\n');
	}
	return NULL;
}
