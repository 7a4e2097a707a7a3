#include "report/frame_name.h"

#include <string.h>

#include "analysis/names/function_name.h"
#include "hosted/cleanup.h"
#include "report/style.h"

#define ELLIPSIS "\xe2\x80\xa6"

/*
 * The length of "operator" and the brackets that belong to it, as in operator()(int). 0: there is
 * none at `at`.
 */
static size_t operator_signs(const char *name, size_t at)
{
	static const char *const signs[] = {"()", "->*", "->", "<<=", "<=>", "<<",
					    "<=", ">>=", ">>", ">=",  "<",   ">"};
	const char *sign = name + at + 8;

	if (strncmp(name + at, "operator", 8) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (strncmp(sign, signs[i], strlen(signs[i])) == 0)
			return 8 + strlen(signs[i]);
	}
	return 8;
}

/* Copies name, with an ellipsis in place of what stands in outermost brackets of that kind. */
static void fold(struct buf *buf, const char *name, char open)
{
	for (size_t i = 0; name[i];) {
		size_t length = operator_signs(name, i);

		if (length) {
			buf_put(buf, name + i, length);
			i += length;
			continue;
		}
		length = name[i] == open ? function_name_bracketed(name + i) : 0;
		if (length > 2 && strncmp(name + i, "(anonymous namespace)", 21) != 0) {
			buf_char(buf, open);
			buf_text(buf, ELLIPSIS);
			buf_char(buf, open == '(' ? ')' : '>');
			i += length;
		} else {
			buf_char(buf, name[i++]);
		}
	}
}

void frame_name_cut_front(struct buf *buf, const char *text, size_t width)
{
	size_t columns = style_columns(text, strlen(text));

	if (columns > width) {
		buf_text(buf, ELLIPSIS);
		for (; columns > width - 1; columns--) {
			text++;
			while (((unsigned char)*text & 0xc0) == 0x80)
				text++;
		}
	}
	buf_text(buf, text);
}

static bool fits(const char *text, size_t width)
{
	return !text || style_columns(text, strlen(text)) <= width;
}

void frame_name_put(struct buf *buf, const char *name, size_t width)
{
	cleanup(buf_deinit) struct buf safe = BUF_EMPTY, without_parameters = BUF_EMPTY,
				       without_templates = BUF_EMPTY;
	const char *text;

	style_safe_text(&safe, name, strlen(name));
	text = buf_string(&safe);
	if (width && !fits(text, width)) {
		fold(&without_parameters, text, '(');
		text = buf_string(&without_parameters);
	}
	if (width && !fits(text, width)) {
		fold(&without_templates, text, '<');
		text = buf_string(&without_templates);
	}
	if (width && !fits(text, width))
		text = function_name_path(text);
	if (!text)
		style_safe_text(buf, name, strlen(name)); // without memory: the long name
	else if (width)
		frame_name_cut_front(buf, text, width);
	else
		buf_text(buf, text);
}
