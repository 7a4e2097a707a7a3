/* Unaligned little-endian loads and stores, and rounding. Hosts are little-endian. */
#ifndef MALLOW_BASE_BYTES_H
#define MALLOW_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a big-endian port must swap here"
#endif

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
