#include "hosted/process_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"

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

/* A line that begins a mapping: "7f00-7f01 rw-p 00000000 00:00 0     [heap]". */
static bool begins_mapping(const char *line, bool *of_heap, uint64_t *size)
{
	char permissions[8], name[16] = "";
	uint64_t start, end, inode;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64 " %15s", &start, &end,
		   permissions, &inode, name) < 4)
		return false;
	*of_heap = strncmp(permissions, "rw-p", 4) == 0 && !inode &&
		   (!*name || strcmp(name, "[heap]") == 0);
	*size = end - start;
	return true;
}

static void read_smaps(uint32_t pid, struct process_memory *memory)
{
	auto_fclose FILE *file = open_proc(pid, "smaps");
	auto_free char *line = NULL;
	uint64_t size, kilobytes;
	size_t capacity = 0;
	bool of_heap = false;

	while (file && getline(&line, &capacity, file) > 0) {
		if (begins_mapping(line, &of_heap, &size)) {
			memory->heap_known = true;
			memory->heap_size += of_heap ? size : 0;
		} else if (of_heap && sscanf(line, "Rss: %" SCNu64, &kilobytes) == 1) {
			memory->heap_resident += kilobytes * 1024;
		}
	}
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
