/*
 * Unaligned loads and stores in the machine's byte order, and rounding. The tool, which reads
 * little-endian files by them, is built for little-endian machines alone.
 */
#ifndef MALLOW_BASE_BYTES_H
#define MALLOW_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#define BYTES_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

#define bytes_load(type, p)                                                                        \
	__extension__({                                                                            \
		type bytes_value_;                                                                 \
		__builtin_memcpy(&bytes_value_, (p), sizeof(bytes_value_));                        \
		bytes_value_;                                                                      \
	})

static inline uint16_t bytes_u16(const void *p)
{
	return bytes_load(uint16_t, p);
}

static inline uint32_t bytes_u32(const void *p)
{
	return bytes_load(uint32_t, p);
}

static inline uint64_t bytes_u64(const void *p)
{
	return bytes_load(uint64_t, p);
}

/* Eight bytes, of which the first becomes the lowest: for numbers of bytes, such as varints. */
static inline uint64_t bytes_u64_first_lowest(const void *p)
{
	return BYTES_BIG_ENDIAN ? __builtin_bswap64(bytes_u64(p)) : bytes_u64(p);
}

static inline void bytes_put_u64(void *p, uint64_t value)
{
	__builtin_memcpy(p, &value, sizeof(value));
}

/* unit is a power of two. */
static inline uint64_t bytes_round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

#endif
