/*
 * Text of strangers, made fit for terminals and logs: names in a program, its files and arguments,
 * what another machine sends. A character is hidden if it moves a cursor, ends a line, turns the
 * direction of writing or shows nothing; and so is a byte that is no UTF-8 (Unicode 15, table 3-7).
 * Everything that prints shows the bytes of a hidden character as \xNN:
 *
 *	"a\033[2Jb"    a\x1b[2Jb
 *
 * The one place that tells hidden from shown, for agent and tool.
 */
#ifndef MALLOW_BASE_SHOWN_TEXT_H
#define MALLOW_BASE_SHOWN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHOWN_ESCAPED 4 /* bytes that \xNN takes */

/*
 * The code point at text. *length: its bytes. No UTF-8: UINT32_MAX, and *length is the longest
 * beginning of a valid sequence, at least 1: what becomes one U+FFFD in browsers and Python.
 * size >= 1.
 */
static inline uint32_t shown_code(const char *text, size_t size, size_t *length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned char first = bytes[0], low = 0x80, high = 0xbf;
	size_t n = 1, whole = first < 0x80   ? 1
			      : first < 0xc2 ? 0
			      : first < 0xe0 ? 2
			      : first < 0xf0 ? 3
			      : first < 0xf5 ? 4
					     : 0;
	uint32_t code = whole < 2 ? first : first & (0x7fu >> whole);

	if (first == 0xe0)
		low = 0xa0; // else it would be overlong
	if (first == 0xed)
		high = 0x9f; // else a surrogate
	if (first == 0xf0)
		low = 0x90;
	if (first == 0xf4)
		high = 0x8f; // else beyond U+10FFFF
	for (; n < whole && n < size && bytes[n] >= low && bytes[n] <= high; n++) {
		code = code << 6 | (bytes[n] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*length = n;
	return n == whole ? code : UINT32_MAX;
}

static inline bool shown_is_hidden(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || // control characters
	       (code >= 0x2028 && code <= 0x202e) ||           // ends of lines, and overrides
	       (code >= 0xfff9 && code <= 0xfffb) ||
	       // What shows nothing: Default_Ignorable_Code_Point.
	       code == 0xad || code == 0x34f || code == 0x61c || code == 0x115f || code == 0x1160 ||
	       code == 0x17b4 || code == 0x17b5 || (code >= 0x180b && code <= 0x180f) ||
	       (code >= 0x200b && code <= 0x200f) || // marks of direction among them
	       (code >= 0x2060 && code <= 0x206f) || // isolates
	       code == 0x3164 || (code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff ||
	       code == 0xffa0 || (code >= 0xfff0 && code <= 0xfff8) ||
	       (code >= 0x1bca0 && code <= 0x1bca3) || (code >= 0x1d173 && code <= 0x1d17a) ||
	       (code >= 0xe0000 && code <= 0xe0fff) || // tags
	       code == UINT32_MAX;
}

/*
 * How many bytes from text on are shown as they are. *escape: those of the hidden character after
 * them, 0 at the end. Of "##" the first one counts as hidden: "##[error]" and "##vso[" anywhere in
 * a line are commands to the machines that run builds.
 */
static inline size_t shown_run(const char *text, size_t size, size_t *escape)
{
	size_t i = 0, length;

	*escape = 0;
	while (i < size) {
		unsigned char c = (unsigned char)text[i];

		length = 1;
		if (c < 0x20 || c >= 0x7f ? shown_is_hidden(shown_code(text + i, size - i, &length))
					  : c == '#' && i + 1 < size && text[i + 1] == '#') {
			*escape = length;
			break;
		}
		i += length;
	}
	return i;
}

/* Writes \xNN, without a NUL. */
static inline void shown_escape(char ret[SHOWN_ESCAPED], char byte)
{
	ret[0] = '\\';
	ret[1] = 'x';
	ret[2] = "0123456789abcdef"[(unsigned char)byte >> 4];
	ret[3] = "0123456789abcdef"[(unsigned char)byte & 15];
}

/*
 * The next piece of a text to write, and how long it is; 0: there is none. It lies in the text, or
 * in escaped. Both *text and *left go on behind it.
 */
static inline size_t shown_piece(const char **text, size_t *left, char escaped[SHOWN_ESCAPED],
				 const char **ret)
{
	size_t escape, run = shown_run(*text, *left, &escape), taken = run ? run : *left != 0;
	bool escapes = !run && escape;

	*ret = *text;
	if (escapes) {
		// What follows of a hidden character is hidden, too: it begins none.
		shown_escape(escaped, **text);
		*ret = escaped;
	}
	*text += taken;
	*left -= taken;
	return escapes ? SHOWN_ESCAPED : run;
}

#endif
