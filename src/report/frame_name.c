#include "report/frame_name.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "report/style.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* The length of the text from an opening bracket to the one that closes it. 0: none closes it. */
static size_t bracketed(const char *text)
{
	char open = *text, close = open == '(' ? ')' : '>';
	size_t depth = 0;

	for (size_t i = 0; text[i]; i++) {
		if (text[i] == open)
			depth++;
		else if (text[i] == close && !(close == '>' && i && text[i - 1] == '-'))
			depth--;
		if (!depth)
			return i + 1;
	}
	return 0;
}

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
		length = name[i] == open ? bracketed(name + i) : 0;
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

/*
 * Returns what follows the return type, which demangled template functions have. It ends at the
 * last space outside of all brackets and before the parameters.
 */
static const char *behind_return_type(const char *name)
{
	const char *start = name;

	if (strstr(name, "operator"))
		return name; // "operator new", "operator bool": cannot be told from a type
	for (const char *c = name; *c; c++) {
		size_t length = *c == '<' || *c == '(' ? bracketed(c) : 0;

		if (*c == '(' && strncmp(c, "(anonymous", 10) != 0)
			break;
		if (*c == ' ')
			start = c + 1;
		if (length)
			c += length - 1;
	}
	return *start ? start : name;
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
		text = behind_return_type(text);
	if (!text)
		style_safe_text(buf, name, strlen(name)); // without memory: the long name
	else if (width)
		frame_name_cut_front(buf, text, width);
	else
		buf_text(buf, text);
}
