/*
 * Writes a table as an Apache Parquet file (https://parquet.apache.org/docs/file-format): columns
 * of 64-bit integers and of texts, each with a value in each row.
 *
 *	PAR1 | row group | row group | … | footer | its size | PAR1
 *
 * A row group has some of the rows, and of each column the distinct values (a dictionary) and which
 * of them each row has; of integers that are mostly distinct, the values. All of it is compressed
 * by zstd. No more than one row group is in memory.
 *
 *	parquet_writer_create(&out, columns, 2, &writer);
 *	parquet_i64(writer, 5);                              row by row, the columns in their order
 *	parquet_text(writer, "malloc");
 *	err = parquet_end_row(writer);
 *	err = parquet_writer_finish(writer);
 */
#ifndef MALLOW_HOSTED_PARQUET_WRITER_H
#define MALLOW_HOSTED_PARQUET_WRITER_H

#include "hosted/buf.h"
#include "hosted/cleanup.h"

enum parquet_type { PARQUET_I64, PARQUET_TEXT };

struct parquet_column {
	const char *name;
	enum parquet_type type;
};

struct parquet_writer;

/*
 * out: takes the file, a memory buffer or a stream; only the writer writes to it. columns are
 * borrowed.
 */
struct err *parquet_writer_create(struct buf *out, const struct parquet_column *columns,
				  size_t count, struct parquet_writer **ret);
/* Accepts NULL. */
void parquet_writer_destroy(struct parquet_writer *writer);
CLEANUP_DEFINE(struct parquet_writer *, parquet_writer_destroy);

/* The value of the row's next column. A failure is told by parquet_end_row(). */
void parquet_i64(struct parquet_writer *writer, int64_t value);
/*
 * The same. Bytes that are not UTF-8 become U+FFFD. Until the row group ends the text must stay,
 * and stay as it is: a pointer that is given again is known, and its text is not read again.
 */
void parquet_text(struct parquet_writer *writer, const char *text);

/* All columns have a value. Ends the row group if it is large enough. Errors: no memory, and of
 * out.
 */
struct err *parquet_end_row(struct parquet_writer *writer);

/* Ends the row group: from now on the texts so far are not needed. */
struct err *parquet_end_group(struct parquet_writer *writer);

/* Ends the row group, and writes the footer and all of out. */
struct err *parquet_writer_finish(struct parquet_writer *writer);

#endif
