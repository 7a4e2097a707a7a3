/*
 * Takes the payload of events chunks apart into columns, and puts it together again. A column holds
 * one kind of field of all records, and compresses far better than whole records do.
 * docs/trace-format.md, section 9.2.
 *
 * Each byte of the payload goes into exactly one column, unchanged and in order. No index is kept:
 * a record's first byte and its counts say which column each next byte belongs to. Freestanding: no
 * heap, no I/O.
 */
#ifndef MALLOW_TRACE_COLUMNS_H
#define MALLOW_TRACE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum columns_kind {
	COLUMNS_FIRST,   /* first bytes of all records */
	COLUMNS_CHANGE,  /* stack changes without the frames they push */
	COLUMNS_FRAME,   /* the frames that stack changes push */
	COLUMNS_TIME,    /* dt, duration, and the operands of time and resync */
	COLUMNS_ADDRESS, /* old and new ones */
	COLUMNS_SIZE,    /* size, alignment, extra */
	COLUMNS_OTHER,   /* lengths and bodies of other records */
	COLUMNS_COUNT,
};

/*
 * Every buffer needs so many more bytes behind its end. They may be read or written, and what they
 * hold means nothing. So one bounds check for each record is enough.
 */
#define COLUMNS_SLACK 128

/*
 * at: where the next byte of each column is written or read. end: where the column ends; used when
 * reading only.
 */
struct columns {
	uint8_t *at[COLUMNS_COUNT];
	uint8_t *end[COLUMNS_COUNT];
};

/*
 * Appends the payload of one chunk to the columns, each of which has size bytes of room. False: the
 * payload is not made of whole records from its start to its end; then the columns hold nothing of
 * use.
 */
bool columns_split(struct columns *columns, const uint8_t *payload, size_t size);

/*
 * Puts the next size bytes of payload together. Returns how many bytes it made: fewer than size if
 * the columns end early or are damaged.
 */
size_t columns_join(struct columns *columns, uint8_t *payload, size_t size);

#endif
