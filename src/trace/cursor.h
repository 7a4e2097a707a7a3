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

/* Makes the cursor fail. After that cursor_left() is 0. */
static inline void cursor_fail(struct cursor *cursor)
{
	cursor->failed = true;
	cursor->end = cursor->at;
}

static inline uint8_t cursor_u8(struct cursor *cursor)
{
	if (unlikely(cursor->at == cursor->end)) {
		cursor->failed = true;
		return 0;
	}
	return *cursor->at++;
}

/*
 * Steps over size bytes and returns where they are. NULL: fewer are left, and the cursor has
 * failed.
 */
static inline const uint8_t *cursor_bytes(struct cursor *cursor, uint64_t size)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->failed || size > cursor_left(cursor)) {
		cursor_fail(cursor);
		return NULL;
	}
	cursor->at += size;
	return bytes;
}

/*
 * Reads byte by byte: for the last seven bytes of the input, and for varints of nine and ten bytes.
 */
static never_inline uint64_t cursor_varint_slow(struct cursor *cursor)
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
	cursor_fail(cursor);
	return 0;
}

/*
 * The value of the varint that begins in a word of eight bytes. *size: its length in bytes, 0 if it
 * is longer than the word.
 *
 * Lengths follow no pattern that a processor could predict, so there is no branch on them. One or
 * two bytes, which is nearly all varints, are one case; for the others three steps move the groups
 * of seven bits together.
 */
static inline uint64_t cursor_varint_in(uint64_t word, unsigned int *size)
{
	uint64_t ends = ~word & 0x8080808080808080;

	if (likely((word & 0x8080) != 0x8080)) {
		uint64_t two = word >> 7 & 1;

		*size = 1 + (unsigned int)two;
		return (word & 0x7f) | (word >> 1 & 0x3f80 & -two);
	}
	if (unlikely(!ends)) {
		*size = 0;
		return 0;
	}

	unsigned int bits = (unsigned int)__builtin_ctzll(ends) + 1;

	*size = bits / 8;
	word &= UINT64_MAX >> (64 - bits);
	word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
	word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
	return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
}

/* Where registers are few, each that is inlined takes stack of its own. */
#if __SIZEOF_POINTER__ == 8
#define VARINT_INLINE inline
#else
#define VARINT_INLINE never_inline __attribute__((unused))
#endif

/* Also fails if the number needs more than 64 bits or more than ten bytes. */
static VARINT_INLINE uint64_t cursor_varint(struct cursor *cursor)
{
	unsigned int size = 0;
	uint64_t value = 0;

	if (likely(cursor_left(cursor) >= 8))
		value = cursor_varint_in(bytes_u64_first_lowest(cursor->at), &size);
	cursor->at += size;
	return likely(size) ? value : cursor_varint_slow(cursor);
}

static inline int64_t cursor_signed(struct cursor *cursor)
{
	return unzigzag(cursor_varint(cursor));
}

#endif
