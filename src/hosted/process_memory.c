#include "hosted/process_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"

#define GUARD 8192u /* the largest guard before a stack: glibc has 4096 bytes, musl 8192 */

static FILE *open_proc(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	return fopen(path, "re");
}

static bool read_statm(uint32_t pid, struct process_memory *memory)
{
	auto_fclose FILE *file = open_proc(pid, "statm");
	uint64_t pages[3], page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!file ||
	    fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &pages[0], &pages[1], &pages[2]) != 3)
		return false;
	memory->virtual_size = pages[0] * page;
	memory->resident = pages[1] * page;
	memory->shared = pages[2] * page;
	return true;
}

/* The mapping that is being read. */
struct mappings {
	uint64_t end, size, resident;
	bool guard;   /* small and without permissions: the next one may be a stack */
	bool of_heap; /* counts for heap_size and heap_resident */
};

/*
 * Reads a line that begins a mapping: "7f00-7f01 rw-p 00000000 00:00 0 [heap]". false: it is
 * another line.
 */
static bool begins_mapping(const char *line, struct mappings *mappings)
{
	bool behind_guard;
	char permissions[8], name[16] = "";
	uint64_t start, end, inode;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64 " %15s", &start, &end,
		   permissions, &inode, name) < 4)
		return false;
	behind_guard = mappings->guard && mappings->end == start;
	mappings->of_heap = strncmp(permissions, "rw-p", 4) == 0 && !inode && !behind_guard &&
			    (!*name || strcmp(name, "[heap]") == 0);
	mappings->guard = strncmp(permissions, "---p", 4) == 0 && !inode && end - start <= GUARD;
	mappings->end = end;
	mappings->size = end - start;
	mappings->resident = 0;
	return true;
}

/*
 * Whether the line has the flags of the agent's own memory, nr and dd: "VmFlags: rd wr mr mw me nr
 * dd".
 */
static bool is_no_program_memory(const char *line)
{
	return strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " nr") && strstr(line, " dd");
}

static void add_mapping(const struct mappings *mappings, struct process_memory *memory)
{
	if (!mappings->of_heap)
		return;
	memory->heap_size += mappings->size;
	memory->heap_resident += mappings->resident;
}

static void read_smaps(uint32_t pid, struct process_memory *memory)
{
	auto_fclose FILE *file = open_proc(pid, "smaps");
	struct mappings mappings = {0};
	auto_free char *line = NULL;
	uint64_t kilobytes;
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0) {
		struct mappings before = mappings;

		if (begins_mapping(line, &mappings)) {
			memory->heap_known = true;
			add_mapping(&before, memory);
		} else if (sscanf(line, "Rss: %" SCNu64, &kilobytes) == 1) {
			mappings.resident = kilobytes * 1024;
		} else if (is_no_program_memory(line)) {
			mappings.of_heap = false;
		}
	}
	add_mapping(&mappings, memory);
}

bool process_memory_read(uint32_t pid, struct process_memory *ret)
{
	struct process_memory memory = {0};

	if (!read_statm(pid, &memory))
		return false;
	read_smaps(pid, &memory);
	*ret = memory;
	return true;
}

uint64_t process_memory_own(void)
{
	struct process_memory memory;

	return read_statm((uint32_t)getpid(), &memory) ? memory.resident - memory.shared : 0;
}
