#include "report/names/own_name.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/names/function_name.h"
#include "analysis/names/short_name.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"

static void put_place(struct buf *buf, const struct style *style, const struct named_frame *frame)
{
	const char *name = file_name(frame->file);

	buf_text(buf, "  ");
	style_begin(buf, style, STYLE_DIM);
	style_safe_text(buf, name, strlen(name));
	if (frame->line)
		buf_printf(buf, ":%" PRIu32, frame->line);
	style_end(buf, style);
}

static void put_function(struct buf *buf, const struct named_frame *frame,
			 enum short_name_form form)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;

	if (named_frame_is_demangled(frame))
		short_name_put(&name, frame->function, form);
	if (name.size && !name.failure)
		style_safe_text(buf, name.data, name.size);
	else
		style_safe_text(buf, frame->function, strlen(frame->function));
}

void own_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame)
{
	style_begin(buf, style, STYLE_NAME);
	if (style->full)
		style_safe_text(buf, frame->function, strlen(frame->function));
	else
		put_function(buf, frame, SHORT_NAME_USUAL);
	style_end(buf, style);
	if (frame->file)
		put_place(buf, style, frame);
}

bool own_name_has_type(const struct named_frame *call)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;
	const char *text;

	if (!named_frame_is_demangled(call) ||
	    function_name_rust(call->raw_function) == FUNCTION_RUST_LEGACY)
		return false;
	short_name_put(&name, call->function, SHORT_NAME_FIRST);
	text = buf_string(&name);
	return text && function_name_has_arguments(text);
}

void own_name_put_call(struct buf *buf, const struct style *style, const struct named_frame *call)
{
	if (style->full)
		style_safe_text(buf, call->function, strlen(call->function));
	else
		put_function(buf, call, SHORT_NAME_FIRST);
}
