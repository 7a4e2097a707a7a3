/* Calls nothing: the agent does without the C library. */
#include "settings/output_name.h"

#define DIGITS 20 /* of the largest number */

/* A text that is written up to the end of its room. */
struct writer {
	char *at, *end; /* the last byte is for the NUL */
	bool cut;
};

static void put_char(struct writer *writer, char c)
{
	if (writer->at == writer->end)
		writer->cut = true;
	else
		*writer->at++ = c;
}

static void put_text(struct writer *writer, const char *text)
{
	while (*text)
		put_char(writer, *text++);
}

static void put_number(struct writer *writer, uint64_t number)
{
	char digits[DIGITS + 1], *first = digits + DIGITS;

	*first = '\0';
	do
		*--first = (char)('0' + number % 10);
	while (number /= 10);
	put_text(writer, first);
}

bool output_name_expand(const struct output_name *name, const char *pattern, uint64_t number,
			char *ret, size_t room)
{
	struct writer writer = {ret, ret + room - 1, false};

	for (const char *c = pattern; *c; c++) {
		if (*c != '%') {
			put_char(&writer, *c);
			continue;
		}
		switch (c[1]) {
		case 'p':
			put_number(&writer, name->pid);
			break;
		case 't':
			put_number(&writer, name->seconds);
			break;
		case 'e':
			put_text(&writer, name->executable);
			break;
		case 'h':
			put_text(&writer, name->host);
			break;
		case 'n':
			put_number(&writer, number);
			break;
		case '%':
			put_char(&writer, '%');
			break;
		default:
			put_char(&writer, '%');
			continue; // the next character is an ordinary one
		}
		c++;
	}
	*writer.at = '\0';
	return !writer.cut;
}

/* Goes to the next placeholder. Returns the character after its %, '\0' at the end. */
static char next_placeholder(const char **position)
{
	const char *c = *position;

	while (*c && *c != '%')
		c++;
	if (!*c) {
		*position = c;
		return '\0';
	}
	*position = c[1] ? c + 2 : c + 1;
	return c[1] ? c[1] : '%';
}

bool output_name_has(const char *pattern, char placeholder)
{
	char found;

	while ((found = next_placeholder(&pattern)))
		if (found == placeholder)
			return true;
	return false;
}

char output_name_unknown(const char *pattern)
{
	char found;

	while ((found = next_placeholder(&pattern)))
		if (found != 'p' && found != 't' && found != 'e' && found != 'h' && found != 'n' &&
		    found != '%')
			return found;
	return '\0';
}
