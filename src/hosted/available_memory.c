#include "hosted/available_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"

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
