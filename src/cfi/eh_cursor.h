/*
 * Reads unwind tables and never beyond their end. The tables are a copy or the mapped original:
 * `image` says where the bytes lie and which address they have in the process. Reading past the
 * end, or anything malformed, makes the cursor bad. A bad cursor gives zeros and stays bad, so a
 * run of fields needs one check.
 */
#ifndef MALLOW_CFI_EH_CURSOR_H
#define MALLOW_CFI_EH_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct eh_image {
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* of bytes[0] */
};

struct eh_cursor {
	const struct eh_image *image;
	size_t position;
	size_t end;
	bool bad;
};

/* Pointer encodings (DW_EH_PE_*): a format, what it is relative to, and indirection. */
#define EH_PE_FORMAT   0x0f
#define EH_PE_ABSPTR   0x00
#define EH_PE_ULEB128  0x01
#define EH_PE_UDATA2   0x02
#define EH_PE_UDATA4   0x03
#define EH_PE_UDATA8   0x04
#define EH_PE_SLEB128  0x09
#define EH_PE_SDATA2   0x0a
#define EH_PE_SDATA4   0x0b
#define EH_PE_SDATA8   0x0c
#define EH_PE_BASE     0x70
#define EH_PE_ABSOLUTE 0x00
#define EH_PE_PCREL    0x10
#define EH_PE_DATAREL  0x30
#define EH_PE_INDIRECT 0x80
#define EH_PE_OMIT     0xff

static inline size_t eh_cursor_left(const struct eh_cursor *cursor)
{
	return cursor->bad ? 0 : cursor->end - cursor->position;
}

/* The address of what is read next. */
static inline uint64_t eh_cursor_address(const struct eh_cursor *cursor)
{
	return cursor->image->address + cursor->position;
}

/* Steps over size bytes and returns where they are. NULL: fewer are left, and the cursor is bad. */
static inline const uint8_t *eh_cursor_take(struct eh_cursor *cursor, uint64_t size)
{
	const uint8_t *p = cursor->image->bytes + cursor->position;

	if (size > eh_cursor_left(cursor)) {
		cursor->bad = true;
		return NULL;
	}
	cursor->position += (size_t)size;
	return p;
}

static inline uint8_t eh_cursor_u8(struct eh_cursor *cursor)
{
	const uint8_t *p = eh_cursor_take(cursor, 1);

	return p ? *p : 0;
}

static inline uint16_t eh_cursor_u16(struct eh_cursor *cursor)
{
	const uint8_t *p = eh_cursor_take(cursor, 2);

	return p ? bytes_u16(p) : 0;
}

static inline uint32_t eh_cursor_u32(struct eh_cursor *cursor)
{
	const uint8_t *p = eh_cursor_take(cursor, 4);

	return p ? bytes_u32(p) : 0;
}

static inline uint64_t eh_cursor_u64(struct eh_cursor *cursor)
{
	const uint8_t *p = eh_cursor_take(cursor, 8);

	return p ? bytes_u64(p) : 0;
}

/* LEB128 numbers. Bits beyond 64 are dropped. */
uint64_t eh_cursor_uleb(struct eh_cursor *cursor);
int64_t eh_cursor_sleb(struct eh_cursor *cursor);

/* Reads a pointer in one of the encodings. data_base is added to those of EH_PE_DATAREL. */
uint64_t eh_cursor_pointer(struct eh_cursor *cursor, uint8_t encoding, uint64_t data_base);

#endif
