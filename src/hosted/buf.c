#include "hosted/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/shown_text.h"
#include "base/varint.h"

#define STREAM_CAPACITY (64u << 10)

void buf_init(struct buf *buf)
{
	*buf = BUF_EMPTY;
}

void buf_init_sink(struct buf *buf, buf_sink *sink, void *argument, const char *name)
{
	*buf = (struct buf){.fd = -1, .sink = sink, .argument = argument, .name = name};
}

static int write_fd(void *argument, const void *data, size_t size)
{
	const struct buf *buf = argument;
	const char *p = data;

	while (size) {
		ssize_t written = write(buf->fd, p, size);

		if (written < 0) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		p += written;
		size -= (size_t)written;
	}
	return 0;
}

void buf_init_fd(struct buf *buf, int fd, const char *name)
{
	buf_init_sink(buf, write_fd, buf, name);
	buf->fd = fd;
}

void buf_deinit(struct buf *buf)
{
	free(buf->data);
	*buf = BUF_EMPTY;
}

static void fail(struct buf *buf, int number, bool sink)
{
	buf->failure = number;
	buf->sink_failed = sink;
}

static void flush(struct buf *buf)
{
	if (buf->failure || !buf->size)
		return;

	int number = buf->sink(buf->argument, buf->data, buf->size);

	if (number)
		fail(buf, number, true);
	buf->size = 0;
}

/* Makes room for more bytes. False: failed, now or before. */
static bool reserve(struct buf *buf, size_t more)
{
	if (buf->failure)
		return false;
	if (more <= buf->capacity - buf->size)
		return true;
	if (buf->sink && buf->size) {
		flush(buf);
		return reserve(buf, more);
	}

	size_t need, capacity = buf->capacity ? buf->capacity : 256;

	if (__builtin_add_overflow(buf->size, more, &need) || need > SIZE_MAX / 2) {
		fail(buf, ENOMEM, false);
		return false;
	}
	if (buf->sink && capacity < STREAM_CAPACITY)
		capacity = STREAM_CAPACITY;
	while (capacity < need)
		capacity *= 2;

	char *data = realloc(buf->data, capacity);

	if (!data) {
		fail(buf, ENOMEM, false);
		return false;
	}
	buf->data = data;
	buf->capacity = capacity;
	return true;
}

void *buf_room(struct buf *buf, size_t size)
{
	return reserve(buf, size) ? buf->data + buf->size : NULL;
}

/* The bytes of a sequence "ESC [ digits m", which changes the colour. 0: it is none. */
static size_t colour_length(const char *text, size_t size)
{
	size_t i = 2;

	if (size < 3 || text[0] != '\033' || text[1] != '[')
		return 0;
	while (i < size && i < 4 && text[i] >= '0' && text[i] <= '9')
		i++;
	return i < size && text[i] == 'm' ? i + 1 : 0;
}

static void put_escaped(struct buf *buf, const char *text, size_t size)
{
	for (size_t i = 0; i < size && reserve(buf, SHOWN_ESCAPED); i++) {
		shown_escape(buf->data + buf->size, text[i]);
		buf->size += SHOWN_ESCAPED;
	}
}

static void put_raw(struct buf *buf, const void *data, size_t size)
{
	if (!size || !reserve(buf, size))
		return;
	memcpy(buf->data + buf->size, data, size);
	buf->size += size;
}

static bool is_blank(uint32_t code)
{
	return code == ' ' || code == 0xa0 || code == 0x1680 ||
	       (code >= 0x2000 && code <= 0x200a) || code == 0x202f || code == 0x205f ||
	       code == 0x3000;
}

/*
 * Writes bytes that are shown as they are. A colon that begins a line is escaped: "::error::" there
 * is a command to GitHub, also behind blanks.
 */
static void put_run(struct buf *buf, const char *text, size_t size)
{
	size_t length, blanks = 0;

	while (!buf->line_begun && blanks < size &&
	       is_blank(shown_code(text + blanks, size - blanks, &length)))
		blanks += length;
	if (!buf->line_begun && blanks < size && text[blanks] == ':') {
		put_raw(buf, text, blanks);
		put_escaped(buf, ":", 1);
		blanks++;
		text += blanks;
		size -= blanks;
		blanks = 0;
		buf->line_begun = true;
	}
	buf->line_begun |= blanks < size;
	put_raw(buf, text, size);
}

/* ours: the text may hold newlines, tabs and colours of our own. */
static void put_shown(struct buf *buf, const char *text, size_t size, bool ours)
{
	while (size) {
		size_t hidden, length = shown_run(text, size, &hidden), own = 0;

		if (buf->shown)
			put_run(buf, text, length);
		else
			put_raw(buf, text, length);
		text += length;
		size -= length;
		if (!hidden)
			return;
		if (ours)
			own = *text == '\n' || *text == '\t' || *text == '#'
				      ? 1
				      : colour_length(text, size);
		if (own && *text == '\n')
			buf->line_begun = false;
		else if (!own || *text == '#')
			buf->line_begun = true;
		if (own)
			put_raw(buf, text, own);
		else
			put_escaped(buf, text, hidden);
		text += own ? own : hidden;
		size -= own ? own : hidden;
	}
}

void buf_shown(struct buf *buf, const char *text, size_t size)
{
	put_shown(buf, text, size, false);
}

void buf_put(struct buf *buf, const void *data, size_t size)
{
	if (buf->shown) {
		put_shown(buf, data, size, true);
		return;
	}
	put_raw(buf, data, size);
}

void buf_append(struct buf *buf, const struct buf *from)
{
	if (from->failure && !buf->failure)
		buf->failure = from->failure;
	buf_put(buf, from->data, from->size);
}

void buf_char(struct buf *buf, char c)
{
	if (buf->shown) {
		put_shown(buf, &c, 1, true);
		return;
	}
	if (!reserve(buf, 1))
		return;
	buf->data[buf->size++] = c;
}

void buf_text(struct buf *buf, const char *text)
{
	buf_put(buf, text, strlen(text));
}

void buf_u64(struct buf *buf, uint64_t value)
{
	char digits[20];
	char *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buf_put(buf, p, (size_t)(digits + sizeof(digits) - p));
}

char *buf_hex_digits(char *end, uint64_t value)
{
	do {
		*--end = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	return end;
}

void buf_varint(struct buf *buf, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	buf_put(buf, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

void buf_hex(struct buf *buf, uint64_t value)
{
	char digits[16];
	char *p = buf_hex_digits(digits + sizeof(digits), value);

	buf_put(buf, p, (size_t)(digits + sizeof(digits) - p));
}

void buf_hex_bytes(struct buf *buf, const uint8_t *bytes, size_t size)
{
	char *to = buf_room(buf, HEX_ROOM(size));

	if (to)
		buf->size += (size_t)(hex_put(to, bytes, size) - to);
}

void buf_repeat(struct buf *buf, char c, size_t count)
{
	if (!count || !reserve(buf, count))
		return;
	memset(buf->data + buf->size, c, count);
	buf->size += count;
}

/* Writes the last bytes again, through the gate. */
static void gate_last(struct buf *buf, size_t size)
{
	char some[256], *copy = size <= sizeof(some) ? some : malloc(size);

	buf->size -= size;
	if (!copy) {
		fail(buf, ENOMEM, false);
		return;
	}
	memcpy(copy, buf->data + buf->size, size);
	put_shown(buf, copy, size, true);
	if (copy != some)
		free(copy);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list arguments;
	int size;

	if (!reserve(buf, 128))
		return;
	va_start(arguments, format);
	size = vsnprintf(buf->data + buf->size, buf->capacity - buf->size, format, arguments);
	va_end(arguments);
	if (size < 0) {
		fail(buf, errno, false);
		return;
	}
	if ((size_t)size >= buf->capacity - buf->size) {
		if (!reserve(buf, (size_t)size + 1))
			return;
		va_start(arguments, format);
		vsnprintf(buf->data + buf->size, buf->capacity - buf->size, format, arguments);
		va_end(arguments);
	}
	buf->size += (size_t)size;
	if (buf->shown)
		gate_last(buf, (size_t)size);
}

struct err *buf_finish(struct buf *buf)
{
	if (buf->sink)
		flush(buf);
	if (!buf->failure)
		return NULL;
	if (buf->sink_failed)
		return err_create_errno(buf->failure, "cannot write %s", buf->name);
	if (buf->failure == ENOMEM)
		return err_no_memory();
	return err_create_errno(buf->failure, "cannot format text");
}

const char *buf_string(struct buf *buf)
{
	if (!reserve(buf, 1))
		return NULL;
	buf->data[buf->size] = '\0';
	return buf->data;
}

char *buf_take(struct buf *buf)
{
	if (!buf_string(buf))
		return NULL;

	char *data = buf->data;

	buf_init(buf);
	return data;
}
