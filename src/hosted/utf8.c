#include "hosted/utf8.h"

/*
 * The length that the first byte announces, and the bounds of the second byte. 0: first is no first
 * byte.
 */
static size_t promised(unsigned char first, unsigned char *low, unsigned char *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef) {
		if (first == 0xe0)
			*low = 0xa0; // else it would be overlong
		if (first == 0xed)
			*high = 0x9f; // else a surrogate
		return 3;
	}
	if (first >= 0xf0 && first <= 0xf4) {
		if (first == 0xf0)
			*low = 0x90;
		if (first == 0xf4)
			*high = 0x8f; // else beyond U+10FFFF
		return 4;
	}
	return 0;
}

/*
 * How many bytes at text are the beginning of a valid sequence. *length: the whole length of that
 * sequence.
 */
static size_t beginning(const char *text, size_t size, size_t *length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned char low, high;
	size_t n = 1;

	*length = promised(bytes[0], &low, &high);
	if (!*length)
		return 0;
	while (n < *length && n < size && bytes[n] >= low && bytes[n] <= high) {
		low = 0x80;
		high = 0xbf;
		n++;
	}
	return n;
}

size_t utf8_sequence(const char *text, size_t size)
{
	size_t length;
	size_t n = beginning(text, size, &length);

	return n && n == length ? length : 0;
}

size_t utf8_invalid(const char *text, size_t size)
{
	size_t length;
	size_t n = beginning(text, size, &length);

	return n ? n : 1;
}
