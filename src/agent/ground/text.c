#include "agent/ground/text.h"

#include "agent/ground/libc.h"

void text_init(struct text *text, char *buffer, size_t room)
{
	*text = (struct text){.start = buffer, .room = room};
	buffer[0] = '\0';
}

void text_char(struct text *text, char c)
{
	if (text->length + 1 >= text->room) {
		text->cut = true;
		return;
	}
	text->start[text->length++] = c;
	text->start[text->length] = '\0';
}

void text_bytes(struct text *text, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		text_char(text, bytes[i]);
}

void text_string(struct text *text, const char *string)
{
	text_bytes(text, string, strlen(string));
}

void text_number(struct text *text, uint64_t value)
{
	char digits[20];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count)
		text_char(text, digits[--count]);
}

void text_hex(struct text *text, uint64_t value, int digits)
{
	while (digits--)
		text_char(text, "0123456789abcdef"[value >> (4 * digits) & 15]);
}

uint64_t text_parse(const char *digits, const char **end)
{
	uint64_t value = 0;

	for (; *digits >= '0' && *digits <= '9'; digits++)
		value = value * 10 + (uint64_t)(*digits - '0');
	if (end)
		*end = digits;
	return value;
}

const char *text_base_name(const char *path)
{
	const char *name = path;

	for (const char *c = path; *c; c++)
		if (*c == '/')
			name = c + 1;
	return name;
}
