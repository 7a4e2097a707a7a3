/* Bytes as hexadecimal digits: build ids, ids of recordings, random names. */
#ifndef MALLOW_BASE_HEX_H
#define MALLOW_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Room for the digits of so many bytes, and a NUL. */
#define HEX_ROOM(size) (2 * (size) + 1)

/* Writes two digits in lower case for each byte, and a NUL. Returns where the NUL is. */
static inline char *hex_put(char *to, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		*to++ = "0123456789abcdef"[bytes[i] >> 4];
		*to++ = "0123456789abcdef"[bytes[i] & 15];
	}
	*to = '\0';
	return to;
}

#endif
