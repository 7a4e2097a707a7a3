#include "report/export/xml_text.h"

#include <string.h>

#include "base/shown_text.h"

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

void xml_text(struct buf *buf, const char *text)
{
	size_t size = strlen(text);

	while (size) {
		size_t length;
		uint32_t code = shown_code(text, size, &length);
		const char *escaped = entity(*text);

		if (escaped) {
			buf_text(buf, escaped);
		} else if (shown_is_hidden(code)) {
			buf_shown(buf, text, length);
		} else if (code == 0xfffe || code == 0xffff) { // XML 1.0 forbids them
			buf_text(buf, "\xef\xbf\xbd");
		} else {
			buf_put(buf, text, length);
		}
		text += length;
		size -= length;
	}
}
