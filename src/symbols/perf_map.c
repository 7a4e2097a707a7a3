#include "symbols/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "symbols/elf_image.h"

/* A file's time is that of the kernel's last tick: at most so much earlier than the write. */
#define TICK_NS 10000000

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

/* The index of the first place at or above address. */
static size_t first_at(const struct perf_map_place *places, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct err *apply(const struct entry *entry, struct arena *arena,
			 struct perf_map_place *places, size_t count)
{
	const char *name = NULL;

	for (size_t i = first_at(places, count, entry->start);
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

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static bool is_trusted(int fd, const struct perf_map_time *time)
{
	struct stat status;

	if (fstat(fd, &status) ||
	    (status.st_uid && status.st_uid != geteuid() && status.st_uid != time->user))
		return false;

	int64_t written = nanoseconds(&status.st_mtim);

	return written >= time->from_ns - TICK_NS && written <= time->until_ns;
}

struct err *perf_map_name(const char *path, const struct perf_map_time *time, struct arena *arena,
			  struct perf_map_place *places, size_t count)
{
	auto_free char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	int fd;
	struct err *err = elf_image_open_file(path, &fd);

	if (err) {
		err_destroy(err);
		return NULL;
	}

	auto_fclose FILE *file = is_trusted(fd, time) ? fdopen(fd, "r") : NULL;

	if (!file) {
		close(fd);
		return NULL;
	}
	errno = 0;
	while ((length = getline(&line, &capacity, file)) > 0) {
		struct entry entry;

		// The last line may be half written.
		if (line[length - 1] != '\n')
			break;
		line[--length] = '\0';
		if (!parse(line, (size_t)length, &entry))
			continue;
		err = apply(&entry, arena, places, count);
		if (err)
			return err;
	}
	return errno == ENOMEM ? err_no_memory() : NULL;
}
