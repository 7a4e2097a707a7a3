/* A byte-wise parser of /proc/self/maps. See proc_maps.h. */
#include "agent/unwind/proc_maps.h"

#include <errno.h>
#include <stdatomic.h>

#include "agent/arch/syscall.h"

static atomic_bool forbidden;

void proc_maps_forbid(bool now)
{
	atomic_store_explicit(&forbidden, now, memory_order_relaxed);
}

bool proc_maps_open(struct proc_maps *maps)
{
	if (atomic_load_explicit(&forbidden, memory_order_relaxed))
		return false;
	maps->position = maps->filled = 0;
	maps->in_line = false;
	maps->fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	return maps->fd >= 0;
}

void proc_maps_close(struct proc_maps *maps)
{
	if (maps->fd >= 0)
		sys_close(maps->fd);
	maps->fd = -1;
}

/* 0 at the end. */
static char next_char(struct proc_maps *maps)
{
	long got;

	if (maps->position == maps->filled) {
		do
			got = sys_read(maps->fd, maps->buffer, sizeof(maps->buffer));
		while (got == -EINTR);
		if (got <= 0)
			return 0;
		maps->position = 0;
		maps->filled = (unsigned)got;
	}
	// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): filled by the kernel
	return maps->buffer[maps->position++];
}

/* A number. The one character after it goes to *behind. */
static uint64_t read_number(struct proc_maps *maps, unsigned base, char *behind)
{
	uint64_t value = 0;

	for (;;) {
		char c = next_char(maps);
		unsigned digit = (unsigned)c - '0';

		if (c >= 'a' && c <= 'f')
			digit = (unsigned)c - 'a' + 10;
		if (digit >= base) {
			*behind = c;
			return value;
		}
		value = value * base + digit;
	}
}

void proc_maps_path(struct proc_maps *maps, char *path, size_t room)
{
	size_t length = 0;
	char c = ' ';

	while (maps->in_line && c == ' ')
		c = next_char(maps);
	for (; maps->in_line && c != '\n' && c != 0; c = next_char(maps)) {
		if (length < room)
			path[length] = c;
		length++;
	}
	maps->in_line = false;
	if (room > 0)
		path[length < room ? length : 0] = 0;
}

/* start-end rwxp offset major:minor inode path */
bool proc_maps_next(struct proc_maps *maps, struct proc_mapping *ret)
{
	struct proc_mapping mapping;
	char behind;

	if (maps->in_line)
		proc_maps_path(maps, NULL, 0);
	mapping.start = read_number(maps, 16, &behind);
	mapping.end = read_number(maps, 16, &behind);
	mapping.readable = next_char(maps) == 'r';
	mapping.writable = next_char(maps) == 'w';
	mapping.executable = next_char(maps) == 'x';
	next_char(maps); // private or shared
	next_char(maps);
	mapping.offset = read_number(maps, 16, &behind);
	read_number(maps, 16, &behind);
	read_number(maps, 16, &behind);
	mapping.inode = read_number(maps, 10, &behind);
	if (behind == 0)
		return false;
	maps->in_line = behind != '\n';
	*ret = mapping;
	return true;
}

bool proc_maps_find(uint64_t address, struct proc_mapping *ret)
{
	struct proc_mapping mapping;
	struct proc_maps maps;
	bool found = false;

	if (!proc_maps_open(&maps))
		return false;
	while (!found && proc_maps_next(&maps, &mapping) && mapping.start <= address)
		found = address < mapping.end;
	proc_maps_close(&maps);
	if (found)
		*ret = mapping;
	return found;
}
