#include "report/names/frame_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/names/function_name.h"
#include "analysis/names/short_name.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/names/distinct_names.h"

#define ELLIPSIS "\xe2\x80\xa6"

enum form { FORM_SHORT, FORM_PARAMETERS, FORM_WHOLE, FORM_FIRST };

/*
 * METHOD: a member function of a template, without template arguments of its own. LIBRARY: without
 * the namespaces of C++'s and Rust's standard libraries. SCOPES: nor as many others as have no
 * room.
 */
enum cut {
	CUT_NOTHING,
	CUT_METHOD,
	CUT_LIBRARY,
	CUT_METHOD_LIBRARY,
	CUT_SCOPES,
	CUT_CLASS,
	CUT_FRONT,
	CUT_MIDDLE
};

/* The ways to write a name, the best first. */
static const struct {
	enum form form;
	enum cut cut;
} ways[] = {
	{FORM_SHORT, CUT_NOTHING},     {FORM_PARAMETERS, CUT_NOTHING},
	{FORM_WHOLE, CUT_NOTHING},     {FORM_SHORT, CUT_LIBRARY},
	{FORM_SHORT, CUT_METHOD},      {FORM_SHORT, CUT_METHOD_LIBRARY},
	{FORM_FIRST, CUT_NOTHING},     {FORM_FIRST, CUT_LIBRARY},
	{FORM_FIRST, CUT_METHOD},      {FORM_FIRST, CUT_METHOD_LIBRARY},
	{FORM_SHORT, CUT_SCOPES},      {FORM_FIRST, CUT_SCOPES},
	{FORM_FIRST, CUT_CLASS},       {FORM_FIRST, CUT_FRONT},
	{FORM_SHORT, CUT_FRONT},       {FORM_SHORT, CUT_MIDDLE},
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
	static const char *const names[] = {
#define LIBRARY_NAMESPACE(name) name,
#include "symbols/library_namespaces.def"
	};

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

/*
 * What follows the first scope of a name; NULL: it has none, or one with template arguments, or it
 * is the function that a lambda is named after.
 */
static const char *after_scope(const char *text)
{
	for (const char *c = text; *c && *c != ' ' && *c != '<'; c++) {
		size_t length = *c == '(' ? function_name_bracketed(c) : 0;

		if (length)
			c += length - 1;
		else if (c[0] == ':' && c[1] == ':')
			return c[2] && c[2] != '{' ? c + 2 : NULL;
	}
	return NULL;
}

/* How long the scope is that a name has at text: "shop::". 0: none. */
static size_t scope_at(const char *text)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	return length && text[length] == ':' && text[length + 1] == ':' ? length + 2 : 0;
}

/* Writes a name whose template arguments have no scopes. */
static void put_plain_arguments(struct buf *buf, const char *text)
{
	unsigned depth = 0;

	for (const char *c = text; *c; c++) {
		bool begins = c == text || strchr("<( ,&*", c[-1]);
		size_t length;

		while (depth && begins && (length = scope_at(c)) != 0)
			c += length;
		depth += *c == '<';
		depth -= *c == '>' && depth && c[-1] != '-';
		buf_char(buf, *c);
	}
}

static bool put_within(struct buf *buf, const char *text, size_t width)
{
	buf_text(buf, text);
	return !width || style_columns(text, strlen(text)) <= width;
}

/* Writes a name whose classes have an ellipsis for their template arguments. */
static void put_plain_classes(struct buf *buf, const char *text)
{
	while (*text) {
		size_t length = *text == '<' ? function_name_bracketed(text) : 0;

		if (length && text[length] == ':') {
			buf_text(buf, "<" ELLIPSIS ">");
			text += length;
		} else {
			buf_char(buf, *text++);
		}
	}
}

/* Leaves out the scopes of template arguments, then those of the name, until it fits. */
static bool put_without_scopes(struct buf *buf, const char *text, bool classes, size_t width)
{
	cleanup(buf_deinit) struct buf plain = BUF_EMPTY;

	if (classes)
		put_plain_arguments(&plain, text);
	else
		put_plain_classes(&plain, text);
	text = buf_string(&plain);
	while (text && style_columns(text, strlen(text)) > width)
		text = after_scope(text);
	return text && put_within(buf, text, width);
}

/* Writes text, cut that way. false: it does not fit. */
static bool put_cut(struct buf *buf, const char *text, enum cut cut, size_t width)
{
	cleanup(buf_deinit) struct buf method = BUF_EMPTY, plain = BUF_EMPTY;
	bool methods = cut == CUT_METHOD || cut >= CUT_METHOD_LIBRARY;

	if (cut == CUT_MIDDLE) {
		cut_middle(buf, text, width);
		return true;
	}
	buf_put(&method, text,
		methods ? (size_t)(function_name_method_end(text) - text) : strlen(text));
	text = buf_string(&method);
	if (text && cut != CUT_NOTHING && cut != CUT_METHOD) {
		put_without_library(&plain, text);
		text = buf_string(&plain);
	}
	if (!text)
		return false;
	if (cut < CUT_SCOPES)
		return put_within(buf, text, width);
	if (cut < CUT_FRONT)
		return put_without_scopes(buf, text, cut == CUT_SCOPES, width);
	frame_name_cut_front(buf, text, width);
	return true;
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

/*
 * Writes a name that nothing else tells from others: its end, and a number. of: what it is the name
 * of.
 */
static void put_numbered(struct buf *buf, const struct style *style, const char *name,
			 const char *of, size_t width)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;

	for (unsigned number = 2;; number++) {
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
		if (!string || distinct_names_claim(style->names, string, of)) {
			buf_text(buf, string ? string : name);
			return;
		}
	}
}

void frame_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame,
		    size_t width)
{
	cleanup(buf_deinit) struct buf form = BUF_EMPTY;

	if (style->full) {
		style_safe_text(buf, frame->function, strlen(frame->function));
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(ways); i++)
		if ((width || ways[i].cut < CUT_SCOPES) && put_way(buf, style, frame, width, i))
			return;
	put_form(&form, frame, FORM_SHORT);
	put_numbered(buf, style, buf_string(&form) ? buf_string(&form) : "", frame->function,
		     width);
}

void frame_name_put_listed(struct buf *buf, const struct style *style,
			   const struct named_frame *frame, size_t width)
{
	size_t behind = frame->script
				? 2 + style_columns(frame->module_name, strlen(frame->module_name))
				: 0;

	frame_name_put(buf, style, frame, width > 2 * behind ? width - behind : width);
	if (!frame->script || (width && width <= 2 * behind))
		return;
	buf_text(buf, "  ");
	style_begin(buf, style, STYLE_DIM);
	style_safe_text(buf, frame->module_name, strlen(frame->module_name));
	style_end(buf, style);
}

void frame_name_put_path(struct buf *buf, const struct style *style, const char *path, size_t width)
{
	static const enum cut cuts[] = {CUT_FRONT, CUT_MIDDLE};
	cleanup(buf_deinit) struct buf safe = BUF_EMPTY, text = BUF_EMPTY;
	const char *whole, *string;

	style_safe_text(&safe, path, strlen(path));
	whole = buf_string(&safe);
	if (!whole) {
		buf_append(buf, &safe);
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(cuts); i++) {
		text.size = 0;
		string = put_cut(&text, whole, cuts[i], width ? width : SIZE_MAX)
				 ? buf_string(&text)
				 : NULL;
		if (string && distinct_names_claim(style->names, string, path)) {
			buf_text(buf, string);
			return;
		}
	}
	put_numbered(buf, style, whole, path, width);
}

static void put_place(struct buf *buf, const struct style *style, const struct named_frame *frame)
{
	const char *name = named_frame_file_name(frame);

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
