/*
 * Writes CSV into a buf as RFC 4180 says: commas between fields, CR LF at the end of rows, quotes
 * around a field that needs them.
 *
 *	csv_text(&csv, "name");
 *	csv_u64(&csv, 5);
 *	csv_end_row(&csv);
 */
#ifndef MALLOW_HOSTED_CSV_WRITER_H
#define MALLOW_HOSTED_CSV_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/buf.h"

/* Set buf, zero the rest: at the beginning of a row. */
struct csv_writer {
	struct buf *buf;
	bool in_row; /* the row has a field */
	bool raw;    /* texts stay as they are, see csv_text() */
};

/*
 * Bytes that are not UTF-8 become U+FFFD. NULL: an empty field. A text that would be a command in
 * the log of a build machine is quoted. Unless raw: hidden characters become \xNN
 * (base/shown_text.h), and a text that a spreadsheet would run gets an apostrophe in front. Such a
 * text has = + - @, a tab or CR at its start or behind a semicolon. Numbers have functions of their
 * own.
 */
void csv_text(struct csv_writer *csv, const char *text);
/*
 * Writes a text as csv_text() would write it between two semicolons of a cell, without quotes
 *around it. Returns whether the cell needs quotes. For texts that many cells have:
 *
 *	quoted = csv_escape(&csv, &made, "operator,");      once
 *	csv_begin(&csv, quoted);                      each time; other parts may be in the cell, too
 *	buf_append(csv.buf, &made);
 *	csv_end(&csv, quoted);
 */
bool csv_escape(const struct csv_writer *csv, struct buf *buf, const char *text);
void csv_begin(struct csv_writer *csv, bool quoted);
void csv_end(struct csv_writer *csv, bool quoted);

void csv_u64(struct csv_writer *csv, uint64_t value);
void csv_i64(struct csv_writer *csv, int64_t value);
void csv_empty(struct csv_writer *csv);
void csv_end_row(struct csv_writer *csv);

/* A whole row: one field for each word of `words`, which are separated by blanks. */
void csv_words(struct csv_writer *csv, const char *words);

#endif
