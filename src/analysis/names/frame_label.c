#include "analysis/names/frame_label.h"

static bool is_plain(char c)
{
	return (unsigned char)c >= 0x20 && c != 0x7f && c != ';';
}

void frame_label_text(struct buf *buf, const char *text)
{
	for (size_t run;; text += run + 1) {
		for (run = 0; is_plain(text[run]); run++)
			continue;
		buf_put(buf, text, run);
		if (!text[run])
			return;
		buf_char(buf, text[run] == ';' ? ':' : ' ');
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
