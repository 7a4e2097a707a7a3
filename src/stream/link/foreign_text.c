#include "stream/link/foreign_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/shown_text.h"

void foreign_text(const void *text, size_t size, char instead, char *ret, size_t room)
{
	const char *from = text;
	size_t left = strnlen(from, size), used = 0;

	while (left) {
		size_t length;
		bool shown = !shown_is_hidden(shown_code(from, left, &length));
		size_t written = shown ? length : 1;

		if (used + written + 1 > room)
			break;
		if (shown)
			memcpy(ret + used, from, length);
		else
			ret[used] = instead;
		used += written;
		from += length;
		left -= length;
	}
	ret[used] = '\0';
}
