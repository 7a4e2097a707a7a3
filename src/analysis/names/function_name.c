#include "analysis/names/function_name.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"

size_t function_name_bracketed(const char *text)
{
	char open = *text, close = open == '(' ? ')' : '>';
	size_t depth = 0;

	for (size_t i = 0; text[i]; i++) {
		if (text[i] == open)
			depth++;
		else if (text[i] == close && !(close == '>' && i && text[i - 1] == '-'))
			depth--;
		if (!depth)
			return i + 1;
	}
	return 0;
}

size_t function_name_operator(const char *text)
{
	static const char word[] = "operator";
	static const char *const signs[] = {"()", "[]",  "->*", "->", "<<=", "<=>", "<<",
					    "<=", ">>=", ">>",  ">=", "<",   ">"};
	size_t length = strlen(word);
	const char *sign = text + length;

	if (strncmp(text, word, length) != 0 || isalnum((unsigned char)*sign) || *sign == '_')
		return 0;
	// "operator<<int>" is operator< of int. An operator<< of int has a blank: "operator<<
	// <int>".
	if (strncmp(sign, "<<", 2) == 0 && sign[2] != '(' && sign[2] != ' ' && sign[2] != '=' &&
	    strchr(sign, '>'))
		return length + 1;
	for (size_t i = 0; i < ARRAY_COUNT(signs); i++)
		if (strncmp(sign, signs[i], strlen(signs[i])) == 0)
			return length + strlen(signs[i]);
	return length;
}

/* Whether c is inside of braces: "{lambda(int)#1}", "{unnamed type#1}". */
static bool is_in_braces(const char *name, const char *c)
{
	int depth = 0;

	for (; name < c; name++)
		depth += (*name == '{') - (*name == '}');
	return depth > 0;
}

const char *function_name_method_end(const char *name)
{
	const char *end = name + strlen(name), *last = end;
	unsigned depth = 0;

	if (end == name || end[-1] != '>')
		return end;
	for (const char *c = end; last == end && c-- > name;) {
		depth += *c == '>' && !(c > name && c[-1] == '-');
		if (*c == '<' && depth && !--depth)
			last = c;
	}
	for (const char *c = name; c < last; c++)
		if (*c == '>' && c[1] == ':')
			return last;
	return end;
}

/* Whether the bracket at c belongs to a type or to the name, and is no list of parameters. */
static bool is_within(const char *name, const char *c)
{
	static const char type[] = "decltype";
	size_t length = strlen(type);

	if (strncmp(c, "(anonymous", 10) == 0 || is_in_braces(name, c))
		return true;
	if (c > name && c[-1] == '\'')
		return true; // "'lambda'(int)", as clang's demangler writes it
	if (c > name && c[-1] == ' ')
		c--; // "decltype (…)", as older demanglers write it
	return (size_t)(c - name) >= length && memcmp(c - length, type, length) == 0;
}

/*
 * The return type ends at the last space outside of all brackets, before the parameters, before
 * "operator", and before what stands for a copy of the function (" [.cold]").
 */
const char *function_name_path(const char *name)
{
	const char *start = name;

	for (const char *c = name; *c; c++) {
		size_t length = *c == '<' || *c == '(' ? function_name_bracketed(c) : 0;

		if (strncmp(c, "operator", 8) == 0 && (c == name || c[-1] == ' ' || c[-1] == ':'))
			break; // "operator new", "operator bool": what follows is no type
		if ((*c == '(' && !is_within(name, c)) || strncmp(c, " [.", 3) == 0)
			break;
		if (*c == ' ' && !is_in_braces(name, c))
			start = c + 1;
		if (length)
			c += length - 1;
	}
	return *start ? start : name;
}

/* Behind "operator" and its sign, whose brackets are none: "operator()", "operator<<". */
static const char *behind_operator(const char *c)
{
	c += strlen("operator");
	return strncmp(c, "()", 2) == 0 ? c + 2 : c + strspn(c, "<>-=");
}

size_t function_name_length(const char *name)
{
	const char *c = name;

	while (*c) {
		size_t length = *c == '<' || *c == '(' ? function_name_bracketed(c) : 0;

		if (strncmp(c, "operator", 8) == 0 && (c == name || c[-1] == ' ' || c[-1] == ':')) {
			c = behind_operator(c);
			continue;
		}
		if ((*c == '(' && !is_within(name, c)) || strncmp(c, " [.", 3) == 0)
			break;
		c += length ? length : 1;
	}
	return (size_t)(c - name);
}

/* _R…, or like C++'s with a hash at its end: _ZN…17h0123456789abcdefE. */
enum function_rust function_name_rust(const char *symbol)
{
	for (const char *hash = symbol; hash && (hash = strstr(hash, "17h")); hash++)
		if (strspn(hash + 3, "0123456789abcdef") == 16 && hash[19] == 'E')
			return FUNCTION_RUST_LEGACY;
	return symbol && strncmp(symbol, "_R", 2) == 0 ? FUNCTION_RUST_V0 : FUNCTION_NOT_RUST;
}

bool function_name_has_arguments(const char *name)
{
	while (*name) {
		size_t signs = function_name_operator(name);

		if (!signs && *name == '<' && function_name_bracketed(name))
			return true;
		name += signs ? signs : 1;
	}
	return false;
}
