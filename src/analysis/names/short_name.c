#include "analysis/names/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/function_name.h"
#include "base/compiler.h"

#define ELLIPSIS     "\xe2\x80\xa6"
#define DEEPEST      24 /* lists within lists; what is deeper is an ellipsis */
#define LONGEST_NAME 65536

static const char anonymous[] = "(anonymous namespace)";

/* What is written, and how. */
struct shortening {
	struct buf *buf;
	enum short_name_form form;
	unsigned depth;
};

static void put_text(struct shortening *shortening, const char *text, const char *end);

static bool begins(const char *text, const char *end, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(end - text) >= length && memcmp(text, word, length) == 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* How many bytes of an inline namespace of the standard libraries to leave out. */
static size_t inline_namespace(const char *text, const char *end)
{
	static const char *const names[] = {
#define INLINE_NAMESPACE(name, of_traits) name,
#include "symbols/library_namespaces.def"
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (begins(text, end, names[i]))
			return strlen(names[i]);
	return 0;
}

/* Whether it is an argument that the standard library's templates have if nobody chose one. */
static bool is_default(const char *text, const char *end)
{
	static const char *const names[] = {
		"allocator<", "char_traits<", "less<", "equal_to<", "hash<", "default_delete<",
	};

	if (begins(text, end, "(__gnu_cxx::_Lock_policy)"))
		return true;
	if (!begins(text, end, "std::"))
		return false;
	text += strlen("std::");
	text += inline_namespace(text, end);
	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (begins(text, end, names[i]))
			return true;
	return false;
}

/* The end of an argument: its comma, or the end of the list. */
static const char *argument_end(const char *text, const char *end)
{
	while (text < end && *text != ',') {
		bool opens = *text == '<' || *text == '(';
		size_t length = opens ? function_name_bracketed(text) : 0;

		text += length && length <= (size_t)(end - text) ? length : 1;
	}
	return text;
}

/* "std::basic_string" of char is std::string, of wchar_t std::wstring. at: where the name begins.
 */
static bool put_typedef(struct buf *buf, const char *argument, const char *end)
{
	static const char basic[] = "basic_";
	size_t length = strlen(basic), start = buf->size;
	bool wide = begins(argument, end, "wchar_t") && end - argument == 7;

	if (!wide && !(begins(argument, end, "char") && end - argument == 4))
		return false;
	while (start && is_word(buf->data[start - 1]))
		start--;
	if (buf->size - start <= length || memcmp(buf->data + start, basic, length) != 0)
		return false;
	memmove(buf->data + start, buf->data + start + length, buf->size - start - length);
	buf->size -= length;
	if (wide) {
		buf_char(buf, 'w');
		memmove(buf->data + start + 1, buf->data + start, buf->size - start - 1);
		buf->data[start] = 'w';
	}
	return true;
}

/* Writes the arguments between two angle brackets. */
static void put_arguments(struct shortening *shortening, const char *text, const char *end)
{
	struct buf *buf = shortening->buf;
	const char *first;
	const char *next;
	size_t left_out = 0, kept = 1;

	while (end > text && end[-1] == ' ')
		end--; // "> >"
	first = argument_end(text, end);
	// A list that has nothing else: std::string::basic_string<std::allocator<char>>.
	if (first == end && !shortening->depth && is_default(text, end)) {
		buf->size -= buf->size && buf->data[buf->size - 1] == ' ';
		return;
	}
	for (next = first; next < end; next = argument_end(next + 1, end)) {
		const char *argument = next + 1 + strspn(next + 1, " ");

		kept += !is_default(argument, end);
	}
	if (kept == 1 && put_typedef(buf, text, first))
		return;
	buf_char(buf, '<');
	shortening->depth++;
	put_text(shortening, text, first);
	for (next = first; next < end;) {
		const char *argument = next + 1 + strspn(next + 1, " ");

		next = argument_end(next + 1, end);
		if (is_default(argument, end))
			continue;
		if (shortening->form == SHORT_NAME_FIRST && ++left_out)
			continue;
		buf_text(buf, ", ");
		put_text(shortening, argument, next);
	}
	shortening->depth--;
	buf_text(buf, left_out ? ", " ELLIPSIS ">" : ">");
}

/* Whether the bracket at text is part of a type or name, and no list of parameters. */
static bool is_part(const struct shortening *shortening, const char *text, const char *end)
{
	static const char type[] = "decltype";
	size_t length = strlen(type);
	const struct buf *buf = shortening->buf;

	return shortening->depth || shortening->form == SHORT_NAME_PARAMETERS ||
	       (buf->size >= length && memcmp(buf->data + buf->size - length, type, length) == 0);
}

/* Steps over what may follow a list of parameters: " const", " &". */
static const char *past_qualifiers(const char *text, const char *end)
{
	static const char *const words[] = {" const", " volatile", " noexcept", " &&",
					    " &",     "&&",        "&"};

	for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
		if (begins(text, end, words[i])) {
			text += strlen(words[i]);
			i = (size_t)-1;
		}
	}
	return text;
}

/* Writes what begins at a bracket, and returns where to go on. */
static const char *put_bracket(struct shortening *shortening, const char *text, const char *end)
{
	size_t length = function_name_bracketed(text);

	if (!length || length > (size_t)(end - text)) {
		buf_char(shortening->buf, *text);
		return text + 1;
	}
	if (begins(text, end, anonymous)) {
		buf_text(shortening->buf, "(anon)");
		return text + length;
	}
	if (*text == '(' && !is_part(shortening, text, end))
		return past_qualifiers(text + length, end);
	if (*text == '(') {
		buf_char(shortening->buf, '(');
		shortening->depth++;
		put_text(shortening, text + 1, text + length - 1);
		shortening->depth--;
		buf_char(shortening->buf, ')');
	} else if (shortening->depth >= DEEPEST) {
		buf_text(shortening->buf, "<" ELLIPSIS ">");
	} else {
		put_arguments(shortening, text + 1, text + length - 1);
	}
	return text + length;
}

static void put_text(struct shortening *shortening, const char *text, const char *end)
{
	const char *start = text;

	while (text < end) {
		bool word_begins = text == start || !is_word(text[-1]);
		size_t length = word_begins ? inline_namespace(text, end) : 0;

		if (length) {
			text += length;
			continue;
		}
		length = word_begins ? function_name_operator(text) : 0;
		if (length && length <= (size_t)(end - text)) {
			buf_put(shortening->buf, text, length);
			text += length;
		} else if (*text == '<' || *text == '(') {
			text = put_bracket(shortening, text, end);
		} else {
			buf_char(shortening->buf, *text++);
		}
	}
}

/*
 * Leaves out arguments of the standard library's function templates that are only the types of what
 * they were called with.
 */
static void drop_deduced(struct buf *name)
{
	static const char *const makers[] = {"std::make_shared<", "std::make_unique<"};
	const char *text = buf_string(name);

	if (!text || !begins(text, text + name->size, "std::"))
		return;
	name->size = (size_t)(function_name_method_end(text) - text);
	for (size_t i = 0; i < ARRAY_COUNT(makers); i++) {
		const char *end = text + name->size, *first;

		if (!begins(text, end, makers[i]) || end[-1] != '>')
			continue;
		first = argument_end(text + strlen(makers[i]), end - 1);
		name->size = (size_t)(first - text);
		buf_char(name, '>');
	}
}

/* How long a lambda's name is, of gcc "{lambda#2}" or of clang "$_1"; 0: none. *nth: from 1 on. */
static size_t lambda_name(const char *text, unsigned long *nth)
{
	static const char gcc[] = "{lambda#", clang[] = "$_";
	bool braces = strncmp(text, gcc, strlen(gcc)) == 0;
	const char *number = text + (braces ? strlen(gcc) : strlen(clang));
	char *end;

	if ((!braces && strncmp(text, clang, strlen(clang)) != 0) ||
	    !isdigit((unsigned char)*number))
		return 0;
	*nth = strtoul(number, &end, 10) + !braces;
	return braces && *end != '}' ? 0 : (size_t)(end - text) + braces;
}

/* Writes a name with lambdas after the functions they stand in: "main::{lambda}<long>". */
static void put_lambdas(struct buf *buf, const char *text)
{
	static const char call[] = "::operator()";

	while (*text) {
		unsigned long nth;
		size_t length = lambda_name(text, &nth);

		if (!length || strncmp(text + length, call, strlen(call)) != 0) {
			buf_char(buf, *text++);
			continue;
		}
		if (nth > 1)
			buf_printf(buf, "{lambda#%lu}", nth);
		else
			buf_text(buf, "{lambda}");
		text += length + strlen(call);
	}
}

void short_name_put(struct buf *buf, const char *name, enum short_name_form form)
{
	struct buf shortened = BUF_EMPTY;
	struct shortening shortening = {.buf = &shortened, .form = form};
	const char *path = function_name_path(name);
	size_t size = strnlen(path, LONGEST_NAME);

	put_text(&shortening, path, path + size);
	drop_deduced(&shortened);
	if (shortened.size && buf_string(&shortened))
		put_lambdas(buf, buf_string(&shortened));
	else
		buf_text(buf, name);
	buf_deinit(&shortened);
}
