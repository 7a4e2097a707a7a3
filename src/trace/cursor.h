/*
 * Reads untrusted bytes in order and never beyond their end. Failure is sticky: after it every
 * read gives 0, so a record is read in full and checked once.
 */
#ifndef MALLOW_TRACE_CURSOR_H
#define MALLOW_TRACE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/varint.h"

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct cursor cursor_make(const void *data, size_t size)
{
	return (struct cursor){.at = data, .end = (const uint8_t *)data + size};
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline uint8_t cursor_u8(struct cursor *cursor)
{
	if (unlikely(cursor->at == cursor->end)) {
		cursor->failed = true;
		return 0;
	}
	return *cursor->at++;
}

/* The next size bytes; NULL: there are not so many. */
static inline const uint8_t *cursor_bytes(struct cursor *cursor, uint64_t size)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->failed || size > cursor_left(cursor)) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += size;
	return bytes;
}

/* Fails too where the number needs more than 64 bits or more than ten bytes. */
static inline uint64_t cursor_varint(struct cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = cursor_u8(cursor);

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return cursor->failed ? 0 : value;
	}
	cursor->failed = true;
	return 0;
}

static inline int64_t cursor_signed(struct cursor *cursor)
{
	return unzigzag(cursor_varint(cursor));
}

#endif
