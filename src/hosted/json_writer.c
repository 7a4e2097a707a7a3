#include "hosted/json_writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shown_text.h"

void json_init(struct json_writer *json, struct buf *buf, bool pretty)
{
	*json = (struct json_writer){.buf = buf, .pretty = pretty};
}

static void new_line(struct json_writer *json)
{
	if (!json->pretty)
		return;
	buf_char(json->buf, '\n');
	buf_repeat(json->buf, ' ', 2 * (size_t)json->depth);
}

/* Writes the comma and the indentation before a member or an element. */
static void separate(struct json_writer *json)
{
	if (!json->depth)
		return;
	if (json->levels[json->depth - 1].filled)
		buf_char(json->buf, ',');
	json->levels[json->depth - 1].filled = true;
	new_line(json);
}

static void before_value(struct json_writer *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	assert(!json->depth || json->levels[json->depth - 1].array);
	separate(json);
}

static void after_value(struct json_writer *json)
{
	if (json->pretty && !json->depth)
		buf_char(json->buf, '\n');
}

static void open_level(struct json_writer *json, bool array)
{
	before_value(json);
	assert(json->depth < JSON_DEPTH_MAX);
	json->levels[json->depth].array = array;
	json->levels[json->depth].filled = false;
	json->depth++;
	buf_char(json->buf, array ? '[' : '{');
}

void json_object(struct json_writer *json)
{
	open_level(json, false);
}

void json_array(struct json_writer *json)
{
	open_level(json, true);
}

void json_end(struct json_writer *json)
{
	assert(json->depth && !json->after_key);
	json->depth--;
	if (json->levels[json->depth].filled)
		new_line(json);
	buf_char(json->buf, json->levels[json->depth].array ? ']' : '}');
	after_value(json);
}

/* Writes a code point as one \\u, or as two beyond U+FFFF. */
static void put_code(struct buf *buf, uint32_t code)
{
	if (code > 0xffff)
		buf_printf(buf, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
	else
		buf_printf(buf, "\\u%04x", code);
}

static void put_escaped(struct buf *buf, unsigned char c)
{
	switch (c) {
	case '"':
		buf_text(buf, "\\\"");
		break;
	case '\\':
		buf_text(buf, "\\\\");
		break;
	case '\n':
		buf_text(buf, "\\n");
		break;
	case '\r':
		buf_text(buf, "\\r");
		break;
	case '\t':
		buf_text(buf, "\\t");
		break;
	default:
		put_code(buf, c);
	}
}

/* "##[error]" and "##vso[" are commands wherever they stand in a log: base/shown_text.h. */
static bool is_plain(const char *text, size_t size)
{
	unsigned char c = (unsigned char)*text;

	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' &&
	       !(c == '#' && size > 1 && text[1] == '#');
}

static void put_string(struct buf *buf, const char *text, size_t size)
{
	size_t i = 0;

	buf_char(buf, '"');
	while (i < size) {
		size_t start = i;

		while (i < size && is_plain(text + i, size - i))
			i++;
		buf_put(buf, text + start, i - start);
		if (i == size)
			break;

		size_t length;
		uint32_t code = shown_code(text + i, size - i, &length);

		if (code == UINT32_MAX)
			buf_text(buf, "\xef\xbf\xbd");
		else if (code < 0x80)
			put_escaped(buf, (unsigned char)code);
		else if (shown_is_hidden(code))
			put_code(buf, code);
		else
			buf_put(buf, text + i, length);
		i += length;
	}
	buf_char(buf, '"');
}

void json_key(struct json_writer *json, const char *key)
{
	assert(json->depth && !json->levels[json->depth - 1].array && !json->after_key);
	separate(json);
	put_string(json->buf, key, strlen(key));
	buf_text(json->buf, json->pretty ? ": " : ":");
	json->after_key = true;
}

void json_bytes(struct json_writer *json, const char *text, size_t size)
{
	before_value(json);
	put_string(json->buf, text, size);
	after_value(json);
}

static void put_literal(struct json_writer *json, const char *literal)
{
	before_value(json);
	buf_text(json->buf, literal);
	after_value(json);
}

void json_text(struct json_writer *json, const char *text)
{
	if (text)
		json_bytes(json, text, strlen(text));
	else
		json_null(json);
}

void json_u64(struct json_writer *json, uint64_t value)
{
	before_value(json);
	buf_u64(json->buf, value);
	after_value(json);
}

void json_hex(struct json_writer *json, uint64_t value)
{
	before_value(json);
	buf_printf(json->buf, "\"0x%llx\"", (unsigned long long)value);
	after_value(json);
}

void json_i64(struct json_writer *json, int64_t value)
{
	before_value(json);
	buf_printf(json->buf, "%lld", (long long)value);
	after_value(json);
}

void json_double(struct json_writer *json, double value)
{
	char text[40];
	int precision = 15;

	if (!isfinite(value)) {
		json_null(json);
		return;
	}
	// 17 digits always suffice; most numbers need fewer.
	do {
		snprintf(text, sizeof(text), "%.*g", precision, value);
	} while (strtod(text, NULL) != value && ++precision <= 17);
	// Some locales have a decimal comma. The tool never calls setlocale(), but a program that
	// embeds these rooms may.
	for (char *p = text; *p; p++)
		if (*p == ',')
			*p = '.';
	put_literal(json, text);
}

void json_decimal(struct json_writer *json, double value, int digits)
{
	char text[16];
	uint64_t scale = 1, scaled;

	for (int i = 0; i < digits; i++)
		scale *= 10;
	if (!(fabs(value) * (double)scale < 1e18)) { // too large, infinite or not a number
		json_double(json, value);
		return;
	}
	scaled = (uint64_t)(fabs(value) * (double)scale + 0.5);
	before_value(json);
	if (value < 0 && scaled)
		buf_char(json->buf, '-');
	buf_u64(json->buf, scaled / scale);
	scaled %= scale;
	for (int i = digits; i > 0; i--) {
		text[i] = (char)('0' + scaled % 10);
		scaled /= 10;
	}
	text[0] = '.';
	while (digits && text[digits] == '0')
		digits--;
	if (digits)
		buf_put(json->buf, text, (size_t)digits + 1);
	after_value(json);
}

void json_bool(struct json_writer *json, bool value)
{
	put_literal(json, value ? "true" : "false");
}

void json_null(struct json_writer *json)
{
	put_literal(json, "null");
}

void json_made(struct json_writer *json, const char *made, size_t size)
{
	before_value(json);
	buf_put(json->buf, made, size);
	after_value(json);
}

void json_field_object(struct json_writer *json, const char *key)
{
	json_key(json, key);
	json_object(json);
}

void json_field_array(struct json_writer *json, const char *key)
{
	json_key(json, key);
	json_array(json);
}

void json_field_text(struct json_writer *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

void json_field_u64(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

void json_field_hex(struct json_writer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_hex(json, value);
}

void json_field_i64(struct json_writer *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_i64(json, value);
}

void json_field_double(struct json_writer *json, const char *key, double value)
{
	json_key(json, key);
	json_double(json, value);
}

void json_field_bool(struct json_writer *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}
