/* How a text looks: what cli found out about the terminal, and what the user asked for. */
#ifndef MALLOW_REPORT_WORDS_STYLE_H
#define MALLOW_REPORT_WORDS_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/buf.h"

struct distinct_names;

struct style {
	bool colour;
	bool exact;   /* bytes to the last digit */
	bool full;    /* nothing is cut, folded or left out */
	bool offsets; /* functions are followed by the return address's offset from their start */
	struct distinct_names *names; /* that the report has shown; NULL: not remembered */
	unsigned width;               /* columns; 0: no terminal, lines may have any length */
};

enum style_ink {
	STYLE_STRONG, /* the number that matters */
	STYLE_DIM,    /* where it is, less important than what */
	STYLE_NAME,   /* functions of the program itself */
	STYLE_WARN,
};

/* Switch an ink on and off. They write nothing if style->colour is off. */
void style_begin(struct buf *buf, const struct style *style, enum style_ink ink);
void style_end(struct buf *buf, const struct style *style);

/* printf between style_begin() and style_end(). */
void style_printf(struct buf *buf, const struct style *style, enum style_ink ink,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Writes a text from a recording, made harmless for terminals and logs: buf_shown(). */
void style_safe_text(struct buf *buf, const char *text, size_t size);

/*
 * How many columns a text takes: its code points. Wide characters count as one; they are rare in
 * names.
 */
size_t style_columns(const char *text, size_t size);

/*
 * Writes a text and a newline, in lines of the style's width, broken between words. column: where
 * the first line goes on. indent: of the lines after it. command: a word in quotes is one word, and
 * a broken line ends in a backslash, so that a shell reads it as one.
 */
void style_wrap(struct buf *buf, const struct style *style, const char *text, size_t column,
		size_t indent, bool command);

/* Writes a warning and a newline, wrapped: "  ! ", and the text, which is safe already. */
void style_warning(struct buf *buf, const struct style *style, const char *text);

#endif
