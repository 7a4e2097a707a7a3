#include "analysis/findings/function_pattern.h"

#include <string.h>

#include "analysis/names/function_name.h"

size_t function_pattern_length(const char *name)
{
	const char *path = function_name_path(name);
	size_t depth = 0;

	for (const char *c = path; *c; c++) {
		depth += *c == '<';
		depth -= *c == '>' && depth;
		// "operator()" and "(anonymous namespace)::" are parts of names.
		if (*c != '(' || depth)
			continue;
		if (strncmp(c, "(anonymous", 10) == 0 || strncmp(c, "()", 2) == 0) {
			const char *end = strchr(c, ')');

			if (end && end[1]) {
				c = end;
				continue;
			}
		}
		return (size_t)(c - name);
	}
	return strlen(name);
}

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
	size_t length = exact ? strlen(name) : function_pattern_length(name);

	buf_char(buf, '^');
	put_escaped(buf, name, length);
	buf_text(buf, exact || !name[length] ? "$" : "\\(");
}
