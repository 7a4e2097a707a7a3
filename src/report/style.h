/* How a text view looks: what the cli found out about the terminal, and what the user asked for. */
#ifndef MALLOW_REPORT_STYLE_H
#define MALLOW_REPORT_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/buf.h"

struct style {
	bool colour;
	bool exact;     /* bytes to the last digit */
	bool full;      /* nothing is cut, folded or left out */
	bool offsets;   /* behind functions how far behind their start the return address is */
	unsigned width; /* columns; 0: no terminal, lines are as long as they need */
};

enum style_ink {
	STYLE_STRONG, /* the number that matters */
	STYLE_DIM,    /* where it is, rather than what */
	STYLE_NAME,   /* functions of the program itself */
	STYLE_WARN,
};

/* Switches an ink on and off again; nothing without colour. */
void style_begin(struct buf *buf, const struct style *style, enum style_ink ink);
void style_end(struct buf *buf, const struct style *style);

/* printf between style_begin() and style_end(). */
void style_printf(struct buf *buf, const struct style *style, enum style_ink ink,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Text of a recording, made harmless for a terminal: control characters and invalid UTF-8 become
 * U+FFFD. Nothing else is changed.
 */
void style_safe_text(struct buf *buf, const char *text, size_t size);

/* Columns of a text: its code points. Wide characters are rare in names and count one. */
size_t style_columns(const char *text, size_t size);

#endif
