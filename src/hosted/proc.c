#include "hosted/proc.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/page_size.h"

#define GUARD  8192u /* the largest guard before a stack: glibc has 4096 bytes, musl 8192 */
#define GROUPS "/sys/fs/cgroup"

bool proc_path_is_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), mark_length = strlen(mark);

	if (length <= mark_length || strcmp(path + length - mark_length, mark) != 0)
		return false;
	path[length - mark_length] = '\0';
	return true;
}

/* Turns each \012 into a newline. The kernel escapes nothing else. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

bool proc_mapping_read(char *line, struct proc_mapping *ret)
{
	struct proc_mapping mapping = {0};
	char permissions[5];
	unsigned int high, low;
	int length = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n",
		   &mapping.start, &mapping.end, permissions, &mapping.offset, &high, &low,
		   &mapping.inode, &length) < 7)
		return false;
	if (mapping.start >= mapping.end || strlen(permissions) != 4)
		return false;
	mapping.executable = permissions[2] == 'x';
	mapping.device = makedev(high, low);
	mapping.path = line + length + strspn(line + length, " ");
	mapping.path[strcspn(mapping.path, "\n")] = '\0';
	mapping.deleted = proc_path_is_deleted(mapping.path);
	unescape(mapping.path);
	*ret = mapping;
	return true;
}

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
	uint64_t pages[3], page = page_size();

	if (!file ||
	    fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64, &pages[0], &pages[1], &pages[2]) != 3)
		return false;
	memory->virtual_size = pages[0] * page;
	memory->resident = pages[1] * page;
	memory->shared = pages[2] * page;
	return true;
}

/* The mapping that is being read. */
struct smaps {
	uint64_t end, size, resident;
	bool guard;   /* small and without permissions: the next one may be a stack */
	bool of_heap; /* counts for heap_size and heap_resident */
};

/*
 * Reads a line that begins a mapping: "7f00-7f01 rw-p 00000000 00:00 0 [heap]". false: it is
 * another line.
 */
static bool begins_mapping(const char *line, struct smaps *mappings)
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

static void add_mapping(const struct smaps *mappings, struct process_memory *memory)
{
	if (!mappings->of_heap)
		return;
	memory->heap_size += mappings->size;
	memory->heap_resident += mappings->resident;
}

static void read_smaps(uint32_t pid, struct process_memory *memory)
{
	auto_fclose FILE *file = open_proc(pid, "smaps");
	struct smaps mappings = {0};
	auto_free char *line = NULL;
	uint64_t kilobytes;
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0) {
		struct smaps before = mappings;

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

uint64_t process_start_time(uint32_t pid)
{
	char path[32], line[1024];
	uint64_t found;
	int threads;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);

	auto_fclose FILE *file = fopen(path, "re");

	if (!file || !fgets(line, sizeof(line), file))
		return 0;

	// Field 2, the name, may contain anything; field 3 follows the last parenthesis.
	const char *p = strrchr(line, ')');

	bool zombie = p && (p[2] == 'Z' || p[2] == 'X');

	for (int field = 2; p && field < 20; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%d %*d %" SCNu64, &threads, &found) != 2)
		return 0;
	// One whose main thread has ended looks like a zombie, too, but has others.
	return zombie && threads <= 1 ? 0 : found;
}

#define GROUPS "/sys/fs/cgroup"

static uint64_t of_machine(void)
{
	auto_fclose FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kib;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			return kib * 1024;
	return UINT64_MAX;
}

/* A number from a file of a group; false also for "max", which is no limit. */
static bool read_number(const char *group, const char *name, uint64_t *ret)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), GROUPS "%s/%s", group, name) >= (int)sizeof(path))
		return false;

	auto_fclose FILE *file = fopen(path, "re");

	return file && fscanf(file, "%" SCNu64, ret) == 1;
}

static uint64_t of_group(const char *group)
{
	uint64_t limit, used;

	if (!read_number(group, "memory.max", &limit) ||
	    !read_number(group, "memory.current", &used))
		return UINT64_MAX;
	return limit > used ? limit - used : 0;
}

/* The least of the process's group and those above it. */
static uint64_t of_groups(void)
{
	auto_fclose FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t least = UINT64_MAX, available;
	char line[PATH_MAX + 16];

	while (file && fgets(line, sizeof(line), file)) {
		char *group = line + strlen("0::");

		if (strncmp(line, "0::", strlen("0::")) != 0)
			continue;
		group[strcspn(group, "\n")] = 0;
		for (char *end = group; end; *end = 0) {
			available = of_group(group);
			if (available < least)
				least = available;
			end = strrchr(group, '/');
			if (!end)
				break;
		}
	}
	return least;
}

uint64_t available_memory(void)
{
	uint64_t machine = of_machine(), groups = of_groups();

	return machine < groups ? machine : groups;
}
