#include "report/export/frames.h"

#include <inttypes.h>
#include <string.h>

#include "report/words/style.h"

static void put_text(struct buf *buf, const char *text)
{
	if (text)
		style_safe_text(buf, text, strlen(text));
}

static void put_line(struct buf *buf, const struct named_frame *frame)
{
	buf_printf(buf, "0x%" PRIx64 "\t", frame->address + 1);
	if (frame->has_symbol)
		put_text(buf, frame->function);
	buf_char(buf, '\t');
	put_text(buf, frame->file);
	if (frame->file && frame->line)
		buf_printf(buf, ":%" PRIu32, frame->line);
	buf_char(buf, '\t');
	put_text(buf, frame->module);
	buf_printf(buf, "\t%s\n", frame->plumbing ? "plumbing" : "");
}

struct err *frames_write(struct buf *buf, struct symbolized *symbolized)
{
	const struct named_frame *frames;
	uint32_t all;
	size_t count;

	recording_frames(symbolized_recording(symbolized), &all);
	for (uint32_t i = 0; i < all; i++) {
		struct err *err = symbolized_frame(symbolized, i, &frames, &count);

		if (err)
			return err;
		for (size_t line = 0; line < count; line++)
			put_line(buf, &frames[line]);
	}
	return NULL;
}
