#include "report/names/frame_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/names/frame_name.h"

/*
 * The columns at which places ("file:line …") begin. In a stack on a terminal, all places begin at
 * the same column, and longer names are folded and cut to fit. In a tree, and where nothing is cut,
 * a longer name moves its place to the right.
 */
#define STACK_COLUMN_MAX  20
#define PLACE_COLUMN      41
#define PLACE_COLUMN_TREE 60
#define LEAST_WIDTH       20

/*
 * The file without its directory if it is a header or a source of the system. cut: for a terminal
 * only.
 */
static const char *short_file(const char *file, bool cut)
{
	const char *slash = strrchr(file, '/');
	bool of_system = strncmp(file, "/usr/", 5) == 0 || strncmp(file, "./", 2) == 0 ||
			 strncmp(file, "/build/", 7) == 0 || strncmp(file, "../", 3) == 0;

	return cut && slash && of_system ? slash + 1 : file;
}

/*
 * Writes "file:line", then the module unless it is the program's file, then whether the function
 * was inlined.
 */
static void put_place(struct buf *buf, const struct named_frame *frame, const char *file,
		      bool with_module, unsigned repeated)
{
	const char *separator = "";

	if (file) {
		style_safe_text(buf, file, strlen(file));
		if (frame->line)
			buf_printf(buf, ":%u", frame->line);
		separator = "  ";
	}
	if (with_module && !frame->in_program && !frame->script && frame->module_name &&
	    frame->has_symbol) {
		buf_printf(buf, "%s[", separator);
		style_safe_text(buf, frame->module_name, strlen(frame->module_name));
		buf_char(buf, ']');
		separator = "  ";
	}
	if (frame->inlined && !frame->import) {
		buf_printf(buf, "%s(inlined)", separator);
		separator = "  ";
	}
	if (repeated > 1)
		buf_printf(buf, "%s\xc3\x97 %u", separator, repeated);
}

/* The two parts of a line: the name, and the place. */
struct parts {
	struct buf name, place;
	size_t name_columns, place_columns;
	struct buf nameless; /* the module, if the function has no name */
	char offset[24];     /* always shown behind the name */
};

static void parts_deinit(struct parts *parts)
{
	buf_deinit(&parts->name);
	buf_deinit(&parts->place);
	buf_deinit(&parts->nameless);
}

static void set_place(struct parts *parts, const struct named_frame *frame, const char *file,
		      bool with_module, unsigned repeated)
{
	parts->place.size = 0;
	put_place(&parts->place, frame, file, with_module, repeated);
	parts->place_columns = style_columns(parts->place.data, parts->place.size);
}

/* Sets the offset: "function +0x1b", "[libfoo.so] +0x1a2b". */
static void set_offset(struct parts *parts, const struct named_frame *frame)
{
	if (frame->inlined || frame->script || (!frame->has_symbol && !frame->module_name))
		return;
	snprintf(parts->offset, sizeof(parts->offset), " +0x%" PRIx64, frame->offset);
	if (!frame->has_symbol)
		buf_printf(&parts->nameless, "[%s]", frame->module_name);
}

static void set_name(struct parts *parts, const struct style *style,
		     const struct named_frame *frame, size_t width)
{
	struct named_frame shown = *frame;
	size_t behind = strlen(parts->offset);

	if (parts->nameless.size && buf_string(&parts->nameless))
		shown.function = buf_string(&parts->nameless);
	parts->name.size = 0;
	frame_name_put(&parts->name, style, &shown, width > behind ? width - behind : width);
	buf_text(&parts->name, parts->offset);
	parts->name_columns = style_columns(parts->name.data, parts->name.size);
}

static bool too_wide(const struct parts *parts, size_t width)
{
	return parts->name_columns + (parts->place_columns ? 2 : 0) + parts->place_columns > width;
}

/* How far behind the frame's first column places of a stack begin. */
static size_t stack_place(size_t column, size_t width)
{
	size_t number = (4 - column % 4) % 4; // the same place behind "9 " and "10 "
	size_t most = width * 11 / 20, least = width * 9 / 20;
	size_t usual = PLACE_COLUMN - 8;

	return number + (usual > most ? most : usual < least ? least : usual);
}

/*
 * Shortens a line that is too wide: takes the directory away first, then folds and cuts the name.
 */
static void fit(struct parts *parts, const struct style *style, const struct named_frame *frame,
		size_t width, unsigned repeated)
{
	const char *slash = frame->file ? strrchr(frame->file, '/') : NULL;
	size_t place;

	if (too_wide(parts, width) && slash)
		set_place(parts, frame, slash + 1, true, repeated);
	if (!too_wide(parts, width))
		return;
	place = parts->place_columns < width / 2 ? parts->place_columns : width / 2;
	if (!place)
		set_name(parts, style, frame, width);
	else if (parts->name_columns + 2 + place > width)
		set_name(parts, style, frame, width - place - 2);
}

/* The same for places that begin at place_at. A place that is too wide loses its module. */
static void fit_columns(struct parts *parts, const struct style *style,
			const struct named_frame *frame, const char *file, size_t place_at,
			size_t width, unsigned repeated)
{
	size_t name = parts->place_columns ? place_at - 2 : width;

	if (parts->name_columns > name)
		set_name(parts, style, frame, name);
	if (file && place_at + parts->place_columns > width)
		set_place(parts, frame, file, false, repeated);
}

/* Whether lines are made to fit, and how many columns are left of one. */
static bool is_cut(const struct style *style)
{
	return style->width && !style->full;
}

static size_t width_from(const struct style *style, size_t column)
{
	return style->width > column + LEAST_WIDTH ? style->width - column : LEAST_WIDTH;
}

/*
 * How many spaces to put between name and place, so that places stand below each other if there is
 * room.
 */
static size_t gap_of(const struct parts *parts, size_t column, size_t width)
{
	size_t wanted = column <= STACK_COLUMN_MAX ? PLACE_COLUMN : PLACE_COLUMN_TREE;
	size_t end = column + parts->name_columns;
	size_t gap = end + 2 < wanted ? wanted - end : 2;

	if (width && parts->name_columns + gap + parts->place_columns > width)
		gap = parts->name_columns + 2 + parts->place_columns > width
			      ? 2
			      : width - parts->name_columns - parts->place_columns;
	return gap;
}

/*
 * Writes the two parts, which fit. strong: the name stands out. place_at: where the place begins;
 * 0: as gap_of() says.
 */
static void put_parts(struct buf *buf, const struct style *style, struct parts *parts, bool strong,
		      size_t column, size_t place_at)
{
	bool cut = is_cut(style);
	size_t width = width_from(style, column), gap;
	const char *place;

	if (strong)
		style_begin(buf, style, STYLE_NAME);
	buf_append(buf, &parts->name);
	if (strong)
		style_end(buf, style);
	place = buf_string(&parts->place);
	if (!place)
		buf_append(buf, &parts->place);
	if (!place || !parts->place_columns)
		return;
	gap = place_at ? place_at - parts->name_columns : gap_of(parts, column, cut ? width : 0);
	buf_repeat(buf, ' ', gap);
	style_begin(buf, style, STYLE_DIM);
	frame_name_cut_front(buf, place,
			     cut ? width - parts->name_columns - gap : parts->place_columns);
	style_end(buf, style);
}

void frame_text_line(struct buf *buf, const struct style *style, const struct named_frame *frame,
		     size_t column, unsigned repeated)
{
	cleanup(parts_deinit) struct parts parts = {
		.name = BUF_EMPTY, .place = BUF_EMPTY, .nameless = BUF_EMPTY};
	bool cut = is_cut(style), fixed = cut && column <= STACK_COLUMN_MAX;
	size_t width = width_from(style, column), place_at = stack_place(column, width);
	const char *file = frame->file ? short_file(frame->file, cut) : NULL;

	if (style->offsets)
		set_offset(&parts, frame);
	set_place(&parts, frame, file, true, repeated);
	set_name(&parts, style, frame, 0);
	if (fixed)
		fit_columns(&parts, style, frame, file, place_at, width, repeated);
	else if (cut)
		fit(&parts, style, frame, width, repeated);
	put_parts(buf, style, &parts, frame->in_program && frame->has_symbol, column,
		  fixed ? place_at : 0);
}

void frame_text_folded(struct buf *buf, const struct style *style, const struct named_frame *frame,
		       size_t column, unsigned frames)
{
	cleanup(parts_deinit) struct parts parts = {
		.name = BUF_EMPTY, .place = BUF_EMPTY, .nameless = BUF_EMPTY};
	bool cut = is_cut(style), fixed = cut && column <= STACK_COLUMN_MAX;
	size_t width = width_from(style, column), place_at = stack_place(column, width);

	if (style->offsets)
		set_offset(&parts, frame);
	buf_printf(&parts.place, "\xe2\x80\xa6 %s", format_counted(frames, "frame", true).text);
	parts.place_columns = style_columns(parts.place.data, parts.place.size);
	set_name(&parts, style, frame,
		 fixed                                    ? place_at - 2
		 : cut && width > parts.place_columns + 2 ? width - parts.place_columns - 2
							  : 0);
	put_parts(buf, style, &parts, false, column, fixed ? place_at : 0);
}

bool frame_text_calls_startup(const struct named_frame *frame, const struct named_frame *callee)
{
	return frame_text_is_startup(callee) &&
	       (!frame->has_symbol || strcmp(frame->function, "main") == 0);
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

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		if (strcmp(frame->function, names[i]) == 0)
			return true;
	}
	return strncmp(frame->function, "__libc_start_main@", 18) == 0 ||
	       named_frame_is_rust_start(frame);
}

bool frame_text_same(const struct named_frame *a, const struct named_frame *b)
{
	return a->line == b->line && a->inlined == b->inlined && a->in_program == b->in_program &&
	       strcmp(a->function, b->function) == 0 &&
	       (a->file == b->file || (a->file && b->file && strcmp(a->file, b->file) == 0));
}
