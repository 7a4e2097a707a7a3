#include "import/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "hosted/buf.h"
#include "hosted/cleanup.h"

#define PIECE       ((size_t)256 << 10)
#define ALL_MAX     ((size_t)1 << 30)
#define SHOWN_BYTES 40

struct err *import_text_init(const char *name, int fd, struct import_text *ret)
{
	*ret = (struct import_text){.name = name, .fd = fd, .capacity = PIECE};
	ret->data = malloc(ret->capacity);
	return ret->data ? NULL : err_no_memory();
}

void import_text_deinit(struct import_text *text)
{
	free(text->data);
	*text = (struct import_text){0};
}

/* Makes room behind what is not taken yet, and reads. */
static struct err *fill(struct import_text *text, size_t most)
{
	size_t left = text->size - text->next;
	ssize_t got;

	if (text->next)
		memmove(text->data, text->data + text->next, left);
	text->next = 0;
	text->size = left;
	if (left == text->capacity) {
		char *larger;

		if (left >= most)
			return err_create("%s: line %" PRIu64 ": is longer than %zu MiB",
					  text->name, text->line + 1, most >> 20);
		larger = realloc(text->data, 2 * text->capacity);
		if (!larger)
			return err_no_memory();
		text->data = larger;
		text->capacity *= 2;
	}
	do
		got = read(text->fd, text->data + left, text->capacity - left);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_create_errno(errno, "%s", text->name);
	text->size += (size_t)got;
	text->at_end = !got;
	return NULL;
}

struct err *import_text_line(struct import_text *text, bool *ret)
{
	size_t looked = 0;
	char *end;

	*ret = true;
	while (true) {
		size_t left = text->size - text->next;

		end = memchr(text->data + text->next + looked, '\n', left - looked);
		if (end || text->at_end)
			break;
		looked = left;

		struct err *err = fill(text, IMPORT_LINE_MAX);

		// The buffer may have moved: nothing is left of the line before.
		text->start = text->at = text->end = text->data;
		if (err)
			return err;
	}
	*ret = text->next < text->size;
	text->line += *ret;
	text->cut = !end;
	text->start = text->at = text->data + text->next;
	text->end = end ? end : text->data + text->size;
	text->next = (size_t)(text->end - text->data) + (end != NULL);
	if (text->end > text->at && text->end[-1] == '\r')
		text->end--;
	return NULL;
}

struct err *import_text_all(struct import_text *text, struct span *ret)
{
	struct err *err = NULL;

	while (!err && !text->at_end)
		err = fill(text, ALL_MAX);
	*ret = (struct span){text->data, text->size};
	return err;
}

struct err *import_text_rewind(struct import_text *text)
{
	if (lseek(text->fd, 0, SEEK_SET) < 0)
		return err_create_errno(errno, "%s", text->name);
	text->size = text->next = 0;
	text->line = 0;
	text->at_end = false;
	return NULL;
}

struct err *import_text_expected(const struct import_text *text, const char *expected)
{
	cleanup(buf_deinit) struct buf shown = BUF_EMPTY;
	size_t left = text_left(text);

	if (text->at_end && !left)
		return err_create("%s: line %" PRIu64 ": %s was expected, where it ends",
				  text->name, text->line, expected);
	buf_shown(&shown, text->at, left < SHOWN_BYTES ? left : SHOWN_BYTES);
	return err_create("%s: line %" PRIu64 ": %s was expected, where '%s%s' stands", text->name,
			  text->line, expected, shown.size ? buf_string(&shown) : "",
			  left > SHOWN_BYTES ? "…" : "");
}

/* grouped: commas may stand between digits. */
static bool take_digits(struct import_text *text, bool grouped, uint64_t *ret)
{
	const char *begin = text->at;
	uint64_t value = 0;

	for (; text->at < text->end; text->at++) {
		unsigned int digit = (unsigned char)*text->at - '0';

		if (grouped && *text->at == ',' && text->at > begin && text->at + 1 < text->end &&
		    text->at[1] >= '0' && text->at[1] <= '9')
			continue;
		if (digit > 9)
			break;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret = value;
	return text->at > begin;
}

bool text_decimal(struct import_text *text, uint64_t *ret)
{
	return take_digits(text, false, ret);
}

bool text_grouped(struct import_text *text, uint64_t *ret)
{
	return take_digits(text, true, ret);
}

struct span text_word(struct import_text *text)
{
	const char *end = memchr(text->at, ' ', text_left(text));
	struct span word = {text->at, end ? (size_t)(end - text->at) : text_left(text)};

	text->at += word.size;
	return word;
}

struct span text_rest(struct import_text *text)
{
	struct span rest = {text->at, text_left(text)};

	text->at = text->end;
	return rest;
}
