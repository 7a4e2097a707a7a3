#include "hosted/encode.h"

#include <string.h>

void uri_put(struct buf *buf, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";

	for (; *text; text++) {
		if (strchr(plain, *text))
			buf_char(buf, *text);
		else
			buf_printf(buf, "%%%02X", (unsigned char)*text);
	}
}

#define PIECE 3072u /* bytes at a time; a multiple of 3 */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes are four digits of six bits; what is missing at the end is '='. */
static void put_base64_group(char *out, const uint8_t *in, size_t size)
{
	uint32_t bits = (uint32_t)in[0] << 16 | (size > 1 ? (uint32_t)in[1] << 8 : 0) |
			(size > 2 ? in[2] : 0u);

	for (size_t i = 0; i < 4; i++)
		out[i] = i <= size ? digits[bits >> (18 - 6 * i) & 63] : '=';
}

void base64_put(struct buf *buf, const void *data, size_t size)
{
	const uint8_t *in = data;

	while (size) {
		size_t here = size < PIECE ? size : PIECE;
		char *out = buf_room(buf, (here + 2) / 3 * 4);

		if (!out)
			return;
		for (size_t i = 0; i < here; i += 3, out += 4)
			put_base64_group(out, in + i, here - i < 3 ? here - i : 3);
		buf->size += (here + 2) / 3 * 4;
		in += here;
		size -= here;
	}
}
