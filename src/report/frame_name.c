#include "report/frame_name.h"

#include <string.h>

#include "analysis/names/short_name.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "report/distinct_names.h"

#define ELLIPSIS "\xe2\x80\xa6"

enum form { FORM_SHORT, FORM_PARAMETERS, FORM_WHOLE, FORM_FIRST };

/* LIBRARY: without the namespaces of C++'s and Rust's standard libraries. */
enum cut { CUT_NOTHING, CUT_LIBRARY, CUT_FRONT, CUT_MIDDLE };

/* The ways to write a name, the best first. */
static const struct {
	enum form form;
	enum cut cut;
} ways[] = {
	{FORM_SHORT, CUT_NOTHING},     {FORM_PARAMETERS, CUT_NOTHING}, {FORM_WHOLE, CUT_NOTHING},
	{FORM_SHORT, CUT_LIBRARY},     {FORM_FIRST, CUT_NOTHING},      {FORM_FIRST, CUT_LIBRARY},
	{FORM_FIRST, CUT_FRONT},       {FORM_SHORT, CUT_FRONT},        {FORM_SHORT, CUT_MIDDLE},
	{FORM_PARAMETERS, CUT_MIDDLE}, {FORM_WHOLE, CUT_MIDDLE},
};

/* The text after so many columns. */
static const char *after_columns(const char *text, size_t columns)
{
	while (columns--) {
		text++;
		while (((unsigned char)*text & 0xc0) == 0x80)
			text++;
	}
	return text;
}

void frame_name_cut_front(struct buf *buf, const char *text, size_t width)
{
	size_t columns = style_columns(text, strlen(text));

	if (columns > width) {
		buf_text(buf, ELLIPSIS);
		text = after_columns(text, columns - width + 1);
	}
	buf_text(buf, text);
}

static void cut_middle(struct buf *buf, const char *text, size_t width)
{
	size_t columns = style_columns(text, strlen(text)), front = width / 2;

	if (columns <= width) {
		buf_text(buf, text);
		return;
	}
	buf_put(buf, text, (size_t)(after_columns(text, front) - text));
	frame_name_cut_front(buf, after_columns(text, front), width - front);
}

static void put_form(struct buf *buf, const struct named_frame *frame, enum form form)
{
	static const enum short_name_form forms[] = {
		[FORM_SHORT] = SHORT_NAME_USUAL,
		[FORM_PARAMETERS] = SHORT_NAME_PARAMETERS,
		[FORM_FIRST] = SHORT_NAME_FIRST,
	};
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;

	if (form == FORM_WHOLE || !named_frame_is_demangled(frame))
		buf_text(&name, frame->function);
	else
		short_name_put(&name, frame->function, forms[form]);
	if (!name.failure)
		style_safe_text(buf, name.data, name.size);
	else
		style_safe_text(buf, frame->function, strlen(frame->function));
}

/* How long the name of a standard library's namespace is that stands there; 0: none does. */
static size_t library_namespace(const char *text)
{
	static const char *const names[] = {"std::", "alloc::", "core::"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return strlen(names[i]);
	return 0;
}

static void put_without_library(struct buf *buf, const char *text)
{
	for (const char *c = text; *c;) {
		bool begins = c == text || strchr("<( ,&*", c[-1]);
		size_t length = begins ? library_namespace(c) : 0;

		if (length)
			c += length;
		else
			buf_char(buf, *c++);
	}
}

/* Writes text, cut that way. false: it does not fit. */
static bool put_cut(struct buf *buf, const char *text, enum cut cut, size_t width)
{
	if (cut == CUT_FRONT) {
		frame_name_cut_front(buf, text, width);
	} else if (cut == CUT_MIDDLE) {
		cut_middle(buf, text, width);
	} else if (cut == CUT_LIBRARY) {
		put_without_library(buf, text);
	} else {
		buf_text(buf, text);
	}
	return !width || style_columns(buf->data, buf->size) <= width;
}

/* Writes the name in one way. false: it does not fit, or another function reads so. */
static bool put_way(struct buf *buf, const struct style *style, const struct named_frame *frame,
		    size_t width, size_t way)
{
	cleanup(buf_deinit) struct buf form = BUF_EMPTY, text = BUF_EMPTY;
	const char *string;

	put_form(&form, frame, ways[way].form);
	string = buf_string(&form);
	if (!string || !put_cut(&text, string, ways[way].cut, width))
		return false;
	string = buf_string(&text);
	if (!string || !distinct_names_claim(style->names, string, frame->function))
		return false;
	buf_text(buf, string);
	return true;
}

/* Writes a name that nothing else tells from others: its end, and a number. */
static void put_numbered(struct buf *buf, const struct style *style,
			 const struct named_frame *frame, size_t width)
{
	cleanup(buf_deinit) struct buf form = BUF_EMPTY, text = BUF_EMPTY;
	const char *name;

	put_form(&form, frame, FORM_SHORT);
	name = buf_string(&form);
	for (unsigned number = 2; name; number++) {
		char mark[16];
		size_t length = (size_t)snprintf(mark, sizeof(mark), " #%u", number);
		const char *string;

		text.size = 0;
		frame_name_cut_front(&text, name,
				     !width           ? SIZE_MAX
				     : width > length ? width - length
						      : 1);
		buf_text(&text, mark);
		string = buf_string(&text);
		if (!string || distinct_names_claim(style->names, string, frame->function)) {
			buf_text(buf, string ? string : name);
			return;
		}
	}
	style_safe_text(buf, frame->function, strlen(frame->function));
}

void frame_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame,
		    size_t width)
{
	if (style->full) {
		style_safe_text(buf, frame->function, strlen(frame->function));
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(ways); i++)
		if ((width || ways[i].cut <= CUT_LIBRARY) && put_way(buf, style, frame, width, i))
			return;
	put_numbered(buf, style, frame, width);
}
