/*
 * A table that is made column by column: as JSON it is written at once, an array for each column;
 * as CSV it is kept, and written row by row when it is whole. So tables have one maker:
 *
 *	columns_begin(columns, "bytes")     "bytes":[            a column
 *	columns_u64(columns, 5)                      5           a value of each row
 *	columns_end(columns)                          ]
 *
 * A column in an object has in CSV the names of both, with '_' between.
 */
#ifndef MALLOW_SERVER_DATA_COLUMNS_H
#define MALLOW_SERVER_DATA_COLUMNS_H

#include "hosted/arena.h"
#include "hosted/json_writer.h"
#include "hosted/vec.h"

struct columns_value {
	enum { COLUMNS_NULL, COLUMNS_UNSIGNED, COLUMNS_SIGNED, COLUMNS_TEXT } kind;
	union {
		uint64_t number;
		int64_t change;
		const char *text;
	};
};

struct column {
	const char *name;
	size_t first; /* its first value */
	const uint32_t
		*places; /* of each row, which of its values; UINT32_MAX: none; NULL: the row's */
};

/* Zeroed but for json. */
struct columns {
	struct json_writer *json; /* NULL: the table is to be CSV */
	char prefix[64];          /* of the objects that columns are in, of CSV … */
	size_t lengths[4], depth; /* … and how long it was before each of these */
	const uint32_t *places;   /* for columns that are begun from now on; of CSV */
	VEC(struct column) all;
	VEC(struct columns_value) values;
	struct arena texts;
	bool failed; /* no memory */
};

void columns_deinit(struct columns *columns);

/* Begins and ends an object. key: NULL in an array. word: what stands for it in names of CSV. */
void columns_object(struct columns *columns, const char *key, const char *word);
void columns_object_end(struct columns *columns);

/* Begins a column, or says that there is none. */
void columns_begin(struct columns *columns, const char *key);
void columns_end(struct columns *columns);
void columns_missing(struct columns *columns, const char *key);

void columns_u64(struct columns *columns, uint64_t value);
void columns_i64(struct columns *columns, int64_t value);
/* text: copied; NULL: null. */
void columns_text(struct columns *columns, const char *text);
void columns_bool(struct columns *columns, bool value);
void columns_null(struct columns *columns);

/* Writes a table for CSV: the names, then so many rows. The only error: no memory. */
struct err *columns_write(const struct columns *columns, uint64_t rows, struct buf *buf);

#endif
