#include "stream/foreign_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "hosted/utf8.h"

/* The code point of a valid sequence of two or three bytes. */
static uint32_t code_point(const uint8_t *text, size_t length)
{
	return length == 2 ? (text[0] & 0x1fu) << 6 | (text[1] & 0x3fu)
			   : (text[0] & 0x0fu) << 12 | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu);
}

/* Whether the character is one that shows. */
static bool is_shown(const uint8_t *text, size_t length)
{
	uint32_t code;

	if (length == 1)
		return *text >= ' ' && *text != 0x7f;
	if (length == 4)
		return true;
	code = code_point(text, length);
	return code >= 0xa0 &&                        // control characters
	       !(code >= 0x200b && code <= 0x200f) && // of no width, and marks of direction
	       !(code >= 0x2028 && code <= 0x202e) && // ends of lines, and overrides
	       !(code >= 0x2060 && code <= 0x206f) && // isolates
	       code != 0x061c && code != 0xfeff;
}

void foreign_text(const void *text, size_t size, char instead, char *ret, size_t room)
{
	const char *from = text;
	size_t left = strnlen(from, size), used = 0;

	while (left) {
		size_t length = utf8_sequence(from, left);
		bool shown = length && is_shown((const uint8_t *)from, length);
		size_t written = shown ? length : 1;

		if (used + written + 1 > room)
			break;
		if (shown)
			memcpy(ret + used, from, length);
		else
			ret[used] = instead;
		used += written;
		if (!length)
			length = utf8_invalid(from, left);
		from += length;
		left -= length;
	}
	ret[used] = '\0';
}
