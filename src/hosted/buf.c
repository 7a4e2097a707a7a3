#include "hosted/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void buf_put(struct buf *buf, const void *data, size_t size)
{
	if (!size || !reserve(buf, size))
		return;
	memcpy(buf->data + buf->size, data, size);
	buf->size += size;
}

void buf_append(struct buf *buf, const struct buf *from)
{
	if (from->failure && !buf->failure)
		buf->failure = from->failure;
	buf_put(buf, from->data, from->size);
}

void buf_char(struct buf *buf, char c)
{
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

void buf_hex(struct buf *buf, uint64_t value)
{
	char digits[16];
	char *p = buf_hex_digits(digits + sizeof(digits), value);

	buf_put(buf, p, (size_t)(digits + sizeof(digits) - p));
}

void buf_repeat(struct buf *buf, char c, size_t count)
{
	if (!count || !reserve(buf, count))
		return;
	memset(buf->data + buf->size, c, count);
	buf->size += count;
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
