/*
 * A bounded cursor over a file of lines. import.c opens it; a reader takes line after line, and of
 *a line field after field:
 *
 *	while (!(err = import_text_line(text, &more)) && more)
 *		if (!text_take(text, "a ") || !text_hex(text, &size))
 *			return import_text_expected(text, "a size");
 *
 * Nothing is read behind the end of a line. A line may have LINE_MAX bytes.
 */
#ifndef MALLOW_IMPORT_TEXT_H
#define MALLOW_IMPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"
#include "import/span.h"

#define IMPORT_LINE_MAX ((size_t)4 << 20)

struct import_text {
	const char *name; /* of the file, for messages, borrowed */
	int fd;           /* borrowed */
	char *data;
	size_t size, next, capacity;  /* data[next … size] is not taken yet */
	bool at_end;                  /* of the file */
	bool cut;                     /* the present line, the last one, does not end */
	uint64_t line;                /* number of the present line, from 1 */
	const char *start, *at, *end; /* the present line, and what is left of it */
};

struct err *import_text_init(const char *name, int fd, struct import_text *ret);
void import_text_deinit(struct import_text *text);

/* Goes to the next line. *ret false: there is none. */
struct err *import_text_line(struct import_text *text, bool *ret);

/* Reads all of the file, at most 1 GiB. *ret is valid as long as the cursor, which has no lines. */
struct err *import_text_all(struct import_text *text, struct span *ret);

/* Goes back to the start of the file. */
struct err *import_text_rewind(struct import_text *text);

/* The error "FILE: line N: EXPECTED was expected, where 'REST' stands". */
struct err *import_text_expected(const struct import_text *text, const char *expected);

static inline size_t text_left(const struct import_text *text)
{
	return (size_t)(text->end - text->at);
}

/* Takes these characters. false: others stand there, and nothing is taken. */
static inline bool text_take(struct import_text *text, const char *word)
{
	size_t size = strlen(word);

	if (text_left(text) < size || memcmp(text->at, word, size) != 0)
		return false;
	text->at += size;
	return true;
}

static inline void text_skip_blanks(struct import_text *text)
{
	while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
		text->at++;
}

/* Takes hexadecimal digits, at most 16. false: there is none, or are more. */
static inline bool text_hex(struct import_text *text, uint64_t *ret)
{
	const char *begin = text->at;
	uint64_t value = 0;

	for (; text->at < text->end; text->at++) {
		unsigned int c = (unsigned char)*text->at, digit = c - '0';

		if (digit > 9) {
			digit = (c | 0x20) - 'a' + 10;
			if (digit < 10 || digit > 15)
				break;
		}
		value = value << 4 | digit;
	}
	*ret = value;
	return text->at > begin && text->at - begin <= 16;
}

/* The same behind one blank. */
static inline bool text_next_hex(struct import_text *text, uint64_t *ret)
{
	return text_take(text, " ") && text_hex(text, ret);
}

/* Takes "0x" and hexadecimal digits. */
static inline bool text_address(struct import_text *text, uint64_t *ret)
{
	return (text_take(text, "0x") || text_take(text, "0X")) && text_hex(text, ret);
}

/* Takes decimal digits. false: there is none, or the number is above 64 bits. */
bool text_decimal(struct import_text *text, uint64_t *ret);
/* The same with commas between the digits, as valgrind writes them: 1,234. */
bool text_grouped(struct import_text *text, uint64_t *ret);

/* Takes what stands before a blank, or the end. */
struct span text_word(struct import_text *text);
/* Takes all that is left. */
struct span text_rest(struct import_text *text);
#endif
