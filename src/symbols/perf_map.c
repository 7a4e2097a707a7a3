#include "symbols/perf_map.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/first_where.h"
#include "hosted/cleanup.h"

/* A file's time is that of the kernel's last tick: at most so much earlier than the write. */
#define TICK_NS 10000000

/* node writes some MB, a Java virtual machine with all its code tens. With lines of 20 bytes, 13
 * million. */
#define SIZE_MOST (256 << 20)
#define LINE_MOST 4096 /* bytes; a longer line is no entry */
#define BLOCK     (64u << 10)

struct entry {
	uint64_t start;
	uint64_t end; /* exclusive */
	const char *name;
	size_t length;
};

/* Reads a hexadecimal number at *text, and moves *text behind it and the spaces after it. */
static bool take_number(const char **text, uint64_t *ret)
{
	const char *p = *text;
	uint64_t value = 0;
	int digits = 0;

	// The Java virtual machine writes "0x".
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (;; p++, digits++) {
		char lower = *p | 0x20;

		if (*p >= '0' && *p <= '9')
			value = value << 4 | (uint64_t)(*p - '0');
		else if (lower >= 'a' && lower <= 'f')
			value = value << 4 | (uint64_t)(lower - 'a' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || (*p != ' ' && *p != '\t'))
		return false;
	while (*p == ' ' || *p == '\t')
		p++;
	*text = p;
	*ret = value;
	return true;
}

/* Parses a line; a NUL stands in place of its newline. false: it is none of such a file. */
static bool parse(const char *line, size_t length, struct entry *ret)
{
	const char *at = line;
	uint64_t size;

	if (!take_number(&at, &ret->start) || !take_number(&at, &size) || !size ||
	    size > UINT64_MAX - ret->start)
		return false;
	ret->end = ret->start + size;
	ret->name = at;
	ret->length = length - (size_t)(at - line);
	if (ret->length && at[ret->length - 1] == '\r')
		ret->length--;
	return ret->length && !memchr(at, 0, ret->length);
}

static struct err *apply(const struct entry *entry, struct arena *arena,
			 struct perf_map_place *places, size_t count)
{
	const char *name = NULL;

	for (size_t i = first_where(j, 0, count, places[j].address >= entry->start);
	     i < count && places[i].address < entry->end; i++) {
		if (!name)
			name = arena_copy(arena, entry->name, entry->length);
		if (!name)
			return err_no_memory();
		places[i].name = name;
		places[i].offset = places[i].address - entry->start;
	}
	return NULL;
}

/* Whether the file is the user's, written in that time, and no larger than JIT compilers write. */
static bool is_trusted(int fd, const struct perf_map_time *time)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != time->user ||
	    status.st_size > SIZE_MOST)
		return false;

	int64_t written = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;

	return written >= time->from_ns - TICK_NS && written <= time->until_ns;
}

/* Takes the lines of a text that ends in a newline. */
static struct err *take_lines(char *text, const char *end, struct arena *arena,
			      struct perf_map_place *places, size_t count)
{
	struct err *err = NULL;

	while (!err && text < end) {
		char *line = text, *newline = memchr(text, '\n', (size_t)(end - text));
		struct entry entry;

		*newline = '\0';
		text = newline + 1;
		if (newline - line < LINE_MOST && parse(line, (size_t)(newline - line), &entry))
			err = apply(&entry, arena, places, count);
	}
	return err;
}

/*
 * Reads by blocks: a line that does not end within one is too long, and passed over. The last line
 * may be half written, and does not count.
 */
static struct err *read_lines(int fd, char *block, struct arena *arena,
			      struct perf_map_place *places, size_t count)
{
	size_t held = 0;
	bool skips = false; // to the end of a line that is too long
	struct err *err = NULL;

	// A file that grows meanwhile is read no further than that.
	for (uint64_t left = SIZE_MOST; !err && left;) {
		size_t wanted = BLOCK - held < left ? BLOCK - held : (size_t)left, size;
		ssize_t got = read(fd, block + held, wanted);
		char *from = block, *end;

		if (got <= 0)
			break;
		left -= (uint64_t)got;
		size = held + (size_t)got;
		end = memrchr(block, '\n', size);
		if (end && skips)
			from = (char *)memchr(block, '\n', size) + 1;
		if (end) {
			err = take_lines(from, end + 1, arena, places, count);
			skips = false;
			held = size - (size_t)(end + 1 - block);
			memmove(block, end + 1, held);
		} else {
			held = size;
		}
		if (held == BLOCK || skips) {
			skips = true;
			held = 0;
		}
	}
	return err;
}

struct err *perf_map_name(const char *path, const struct perf_map_time *time, struct arena *arena,
			  struct perf_map_place *places, size_t count)
{
	// Anyone can put a link, a pipe or a file of any size into /tmp.
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	auto_free char *block = NULL;

	if (fd < 0 || !is_trusted(fd, time))
		return NULL;
	block = malloc(BLOCK);
	return block ? read_lines(fd, block, arena, places, count) : err_no_memory();
}
