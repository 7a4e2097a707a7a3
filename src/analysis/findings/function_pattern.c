#include "analysis/findings/function_pattern.h"

#include <string.h>

#include "analysis/names/function_name.h"

static void put_escaped(struct buf *buf, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (strchr("\\^$.|?*+()[]{}", text[i]))
			buf_char(buf, '\\');
		buf_char(buf, text[i]);
	}
}

void function_pattern_put(struct buf *buf, const char *name, bool exact)
{
	size_t length = exact ? strlen(name) : function_name_length(name);

	buf_char(buf, '^');
	put_escaped(buf, name, length);
	buf_text(buf, exact || !name[length] ? "$" : "\\(");
}
