#include "import/json_reader.h"

#include <inttypes.h>

#define DEPTH_MAX 64

static void fail(struct json_reader *json, const char *expected)
{
	if (!json->expected)
		json->expected = expected;
}

static void skip_blanks(struct json_reader *json)
{
	while (json->at < json->end && memchr(" \t\r\n", *json->at, 4))
		json->at++;
}

static bool take(struct json_reader *json, char c)
{
	skip_blanks(json);
	if (json->expected || json->at == json->end || *json->at != c)
		return false;
	json->at++;
	return true;
}

bool json_reader_enter(struct json_reader *json, char open)
{
	if (json->depth == DEPTH_MAX || !take(json, open)) {
		fail(json, json->depth == DEPTH_MAX ? "fewer levels"
			   : open == '{'            ? "an object"
						    : "an array");
		return false;
	}
	json->depth++;
	json->first = true;
	return true;
}

/* Goes to the next member, behind a comma if it is not the first. false: there is none. */
static bool next(struct json_reader *json, char close)
{
	if (take(json, close)) {
		json->depth--;
		json->first = false;
		return false;
	}
	if (!json->first && !take(json, ','))
		fail(json, "',' or the end of an object or array");
	json->first = false;
	return !json->expected;
}

bool json_reader_item(struct json_reader *json)
{
	return next(json, ']');
}

bool json_reader_key(struct json_reader *json, struct span *ret)
{
	if (!next(json, '}'))
		return false;
	*ret = json_reader_text(json);
	if (!take(json, ':'))
		fail(json, "':'");
	return !json->expected;
}

static char *put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* Takes what stands behind \u. */
static uint32_t take_code(const char **at, const char *end)
{
	uint32_t code = 0;

	for (int i = 0; i < 4; i++, ++*at) {
		unsigned char c = *at < end ? (unsigned char)**at : 0, low = c | 0x20;

		if (c >= '0' && c <= '9')
			code = code << 4 | (c - '0');
		else if (low >= 'a' && low <= 'f')
			code = code << 4 | (low - 'a' + 10u);
		else
			return 0xfffd;
	}
	return code < 0xd800 || code > 0xdfff ? code : 0xfffd;
}

/* A text without its escapes; it never gets longer. */
static struct span resolve(struct json_reader *json, struct span text)
{
	static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
	char *copy = arena_alloc(json->arena, text.size + 1), *to = copy;
	const char *at = text.data, *end = text.data + text.size;

	if (!copy) {
		fail(json, "more memory");
		return (struct span){0};
	}
	while (at < end) {
		const char *known;

		if (*at != '\\' || at + 1 == end) {
			*to++ = *at++;
			continue;
		}
		at += 2;
		known = strchr(names, at[-1]);
		if (at[-1] == 'u')
			to = put_utf8(to, take_code(&at, end));
		else
			*to++ = known && *known ? values[known - names] : at[-1];
	}
	return (struct span){copy, (size_t)(to - copy)};
}

struct span json_reader_text(struct json_reader *json)
{
	struct span text;
	bool escaped = false;

	if (!take(json, '"')) {
		fail(json, "a text");
		return (struct span){0};
	}
	text.data = json->at;
	while (json->at < json->end && *json->at != '"') {
		escaped |= *json->at == '\\';
		json->at += *json->at == '\\' && json->at + 1 < json->end ? 2 : 1;
	}
	text.size = (size_t)(json->at - text.data);
	if (!take(json, '"')) {
		fail(json, "the end of a text");
		return (struct span){0};
	}
	return escaped ? resolve(json, text) : text;
}

uint64_t json_reader_number(struct json_reader *json)
{
	const char *begin;
	uint64_t value = 0;

	skip_blanks(json);
	begin = json->at;
	for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*json->at - '0'), &value))
			fail(json, "a number of 64 bits");
	if (json->at == begin)
		fail(json, "a number from 0 on");
	while (json->at < json->end && memchr("0123456789.eE+-", *json->at, 15))
		json->at++;
	return json->expected ? 0 : value;
}

void json_reader_skip(struct json_reader *json)
{
	struct span key;

	skip_blanks(json);
	if (json->expected || json->at == json->end) {
		fail(json, "a value");
	} else if (*json->at == '{') {
		json_reader_enter(json, '{');
		while (json_reader_key(json, &key))
			json_reader_skip(json);
	} else if (*json->at == '[') {
		json_reader_enter(json, '[');
		while (json_reader_item(json))
			json_reader_skip(json);
	} else if (*json->at == '"') {
		json_reader_text(json);
	} else if (memchr("tfn", *json->at, 3)) {
		while (json->at < json->end && *json->at >= 'a' && *json->at <= 'z')
			json->at++;
	} else {
		take(json, '-');
		json_reader_number(json);
	}
}

struct err *json_reader_finish(const struct json_reader *json)
{
	if (!json->expected)
		return NULL;
	return err_create("%s: offset %" PRIu64 ": %s was expected%s", json->name,
			  (uint64_t)(json->at - json->start), json->expected,
			  json->at == json->end ? ", where it ends" : "");
}
