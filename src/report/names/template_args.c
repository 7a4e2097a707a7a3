#include "report/names/template_args.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"

/*
 * The length of an operator's name at text that looks like a bracket, "<<=" for one. 0: there is
 * none.
 */
static size_t operator_at(const char *start, const char *text)
{
	static const char word[] = "operator";
	static const char *const names[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
					    "<=",  ">=",  "->",  "<",   ">"};
	size_t before = (size_t)(text - start), length = sizeof(word) - 1;

	if (before < length || memcmp(text - length, word, length) != 0)
		return 0;
	if (before > length &&
	    (isalnum((unsigned char)text[-(long)length - 1]) || text[-(long)length - 1] == '_'))
		return 0;
	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return strlen(names[i]);
	return 0;
}

void template_args_strip(struct buf *buf, const char *function)
{
	size_t depth = 0;

	for (const char *c = function; *c; c++) {
		size_t length = *c == '<' || *c == '>' || *c == '-' ? operator_at(function, c) : 0;

		// "operator<<int>" is operator< of int. An operator<< of int has a blank:
		// "operator<< <int>".
		if (length == 2 && c[0] == '<' && c[1] == '<' && strchr(c, '>') && c[2] != '(' &&
		    c[2] != ' ')
			length = 1;
		if (length) {
			if (!depth)
				buf_put(buf, c, length);
			c += length - 1;
		} else if (*c == '<') {
			if (!depth++)
				buf_text(buf, "<...>");
		} else if (*c == '>' && depth && c[-1] != '-') {
			depth--;
		} else if (!depth) {
			buf_char(buf, *c);
		}
	}
}
