#include "report/own_name.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/names/function_name.h"

static void put_place(struct buf *buf, const struct style *style, const struct named_frame *frame)
{
	const char *slash = strrchr(frame->file, '/'), *name = slash ? slash + 1 : frame->file;

	buf_text(buf, "  ");
	style_begin(buf, style, STYLE_DIM);
	style_safe_text(buf, name, strlen(name));
	if (frame->line)
		buf_printf(buf, ":%" PRIu32, frame->line);
	style_end(buf, style);
}

void own_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame)
{
	const char *path = function_name_path(frame->function);
	size_t before = (size_t)(path - frame->function);

	style_begin(buf, style, STYLE_NAME);
	style_safe_text(buf, path, function_name_length(frame->function) - before);
	style_end(buf, style);
	if (frame->file)
		put_place(buf, style, frame);
}
