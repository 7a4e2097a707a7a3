#include "report/export/xml_text.h"

#include <string.h>

#include "hosted/utf8.h"

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

/* Whether XML 1.0 forbids a valid UTF-8 sequence: C0, DEL, C1, U+FFFE and U+FFFF. */
static bool forbidden(const unsigned char *sequence, size_t length)
{
	if (length == 1)
		return sequence[0] < 0x20 || sequence[0] == 0x7f;
	if (length == 2)
		return sequence[0] == 0xc2 && sequence[1] < 0xa0;
	return length == 3 && sequence[0] == 0xef && sequence[1] == 0xbf && sequence[2] >= 0xbe;
}

void xml_text(struct buf *buf, const char *text)
{
	size_t size = strlen(text);

	while (size) {
		size_t length = utf8_sequence(text, size);
		const char *escaped = entity(*text);

		if (escaped) {
			buf_text(buf, escaped);
		} else if (length && !forbidden((const unsigned char *)text, length)) {
			buf_put(buf, text, length);
		} else {
			buf_text(buf, "\xef\xbf\xbd");
			if (!length)
				length = utf8_invalid(text, size);
		}
		text += length;
		size -= length;
	}
}
