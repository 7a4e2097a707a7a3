#include "report/frame_text.h"

#include <string.h>

#include "hosted/cleanup.h"

#define ELLIPSIS    "\xe2\x80\xa6"
#define NAME_COLUMN 36 /* where files begin, if the names before them are shorter */

/* Length of the text from an opening bracket to the one that closes it; 0: it is not closed. */
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

/* Length of an operator's own brackets, as in operator()(int) or operator<<; 0: not one. */
static size_t operator_signs(const char *name, size_t at)
{
	if (strncmp(name + at, "operator", 8) != 0)
		return 0;
	if (name[at + 8] == '(' && name[at + 9] == ')')
		return 10;
	return 8 + strspn(name + at + 8, "<>=-");
}

/* Copies name with the contents of all outermost brackets of a kind replaced by an ellipsis. */
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

/* The last width columns, an ellipsis in front. */
static void cut_front(struct buf *buf, const char *text, size_t width)
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

void frame_text_name(struct buf *buf, const char *name, size_t width)
{
	cleanup(buf_deinit) struct buf safe, without_parameters, without_templates;
	const char *text;

	buf_init(&safe);
	buf_init(&without_parameters);
	buf_init(&without_templates);
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
	if (!text)
		buf_text(buf, name); // no memory: as it is, rather than nothing
	else if (width)
		cut_front(buf, text, width);
	else
		buf_text(buf, text);
}

/* "file:line", then the module unless it is the program, then whether it was inlined. */
static void put_place(struct buf *buf, const struct named_frame *frame, unsigned repeated)
{
	const char *separator = "";

	if (frame->file) {
		style_safe_text(buf, frame->file, strlen(frame->file));
		if (frame->line)
			buf_printf(buf, ":%u", frame->line);
		separator = "  ";
	}
	if (!frame->in_program && frame->module_name && frame->has_symbol) {
		buf_printf(buf, "%s[", separator);
		style_safe_text(buf, frame->module_name, strlen(frame->module_name));
		buf_char(buf, ']');
		separator = "  ";
	}
	if (frame->inlined) {
		buf_printf(buf, "%s(inlined)", separator);
		separator = "  ";
	}
	if (repeated > 1)
		buf_printf(buf, "%s\xc3\x97 %u", separator, repeated);
}

/* How many of the width columns the name gets: the place needs its own, up to half of them. */
static size_t name_width(size_t width, size_t name, size_t place)
{
	size_t kept = place < width / 2 ? place : width / 2;

	if (name + 2 + place <= width)
		return name;
	if (name + 2 + kept <= width)
		return name; // short name: the place is cut to the rest
	return width - kept - 2;
}

void frame_text_line(struct buf *buf, const struct style *style, const struct named_frame *frame,
		     size_t column, unsigned repeated)
{
	cleanup(buf_deinit) struct buf name, place;
	size_t width = style->width > column + 20 ? style->width - column : 20;
	size_t name_columns, place_columns, gap;
	bool cut = style->width && !style->full;
	const char *place_text;

	buf_init(&name);
	buf_init(&place);
	put_place(&place, frame, repeated);
	place_text = buf_string(&place);
	place_columns = style_columns(place_text ? place_text : "", place.size);
	frame_text_name(&name, frame->function, 0);
	name_columns = style_columns(name.data, name.size);
	if (cut && place_columns) {
		buf_deinit(&name);
		buf_init(&name);
		frame_text_name(&name, frame->function,
				name_width(width, name_columns, place_columns));
	} else if (cut) {
		buf_deinit(&name);
		buf_init(&name);
		frame_text_name(&name, frame->function, width);
	}
	name_columns = style_columns(name.data, name.size);

	if (frame->in_program && frame->has_symbol)
		style_begin(buf, style, STYLE_NAME);
	buf_put(buf, name.data, name.size);
	style_end(buf, style);
	if (!place_columns || !place_text)
		return;
	gap = name_columns + 2 < NAME_COLUMN ? NAME_COLUMN - name_columns : 2;
	if (cut && name_columns + gap + place_columns > width)
		gap = name_columns + 2 + place_columns > width
			      ? 2
			      : width - name_columns - place_columns;
	buf_repeat(buf, ' ', gap);
	style_begin(buf, style, STYLE_DIM);
	if (cut && name_columns + gap + place_columns > width)
		cut_front(buf, place_text, width - name_columns - gap);
	else
		buf_text(buf, place_text);
	style_end(buf, style);
}

bool frame_text_is_startup(const struct named_frame *frame)
{
	static const char *const names[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_call_main",
		"start_thread",
		"__libc_start_main_impl",
		"clone",
		"clone3",
		"__clone",
		"__clone3",
		"_start_c",
		"libc_start_main_stage2",
		"__clone_internal",
		"thread_start",
		"_dl_start_user",
		"__GI___clone",
		"__GI___clone3",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(frame->function, names[i]) == 0)
			return true;
	}
	return strncmp(frame->function, "__libc_start_main@", 18) == 0;
}

bool frame_text_same(const struct named_frame *a, const struct named_frame *b)
{
	return a->line == b->line && a->inlined == b->inlined && a->in_program == b->in_program &&
	       strcmp(a->function, b->function) == 0 &&
	       (a->file == b->file || (a->file && b->file && strcmp(a->file, b->file) == 0));
}
