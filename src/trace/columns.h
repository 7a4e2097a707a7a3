/*
 * The payload of events chunks taken apart into columns and put together again: fields of one
 * kind behind each other compress far better than records do. docs/trace-format.md, section 9.2.
 *
 * Every byte of the payload goes into exactly one column, unchanged and in order; where the next
 * one comes from follows from the records themselves. Freestanding: no heap, no I/O.
 */
#ifndef MALLOW_TRACE_COLUMNS_H
#define MALLOW_TRACE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum columns_kind {
	COLUMNS_FIRST,   /* first bytes of all records */
	COLUMNS_CHANGE,  /* stack changes without the frames they push */
	COLUMNS_FRAME,   /* those frames */
	COLUMNS_TIME,    /* dt, duration, and the operands of time and resync */
	COLUMNS_ADDRESS, /* old and new ones */
	COLUMNS_SIZE,    /* size, alignment, extra */
	COLUMNS_OTHER,   /* lengths and bodies of other records */
	COLUMNS_COUNT,
};

/*
 * Bytes that may be touched behind the end of every buffer, read or written, so that one check a
 * record is enough. What they hold means nothing.
 */
#define COLUMNS_SLACK 128

/* Where each column is written or read next; end counts for reading alone. */
struct columns {
	uint8_t *at[COLUMNS_COUNT];
	uint8_t *end[COLUMNS_COUNT];
};

/*
 * Appends the payload of one chunk to the columns, each of which has size bytes of room. False: it
 * is not records from end to end, and the columns are worth nothing.
 */
bool columns_split(struct columns *columns, const uint8_t *payload, size_t size);

/* Makes the next size bytes of payload; returns how many of them the columns gave. */
size_t columns_join(struct columns *columns, uint8_t *payload, size_t size);

#endif
