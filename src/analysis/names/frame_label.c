#include "analysis/names/frame_label.h"

void frame_label_text(struct buf *buf, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		buf_char(buf, c == ';' ? ':' : c < 0x20 || c == 0x7f ? ' ' : *text);
	}
}

static void put_label(struct buf *buf, const struct named_frame *frame, bool with_line)
{
	frame_label_text(buf, frame->function);
	if (frame->in_program || !frame->has_symbol || !frame->module_name)
		return;
	buf_text(buf, " [");
	frame_label_text(buf, frame->module_name);
	if (with_line && frame->script && frame->line)
		buf_printf(buf, ":%u", frame->line);
	buf_char(buf, ']');
}

void frame_label(struct buf *buf, const struct named_frame *frame)
{
	put_label(buf, frame, true);
}

void frame_label_of_function(struct buf *buf, const struct named_frame *frame)
{
	put_label(buf, frame, false);
}
