#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/load/load.h"
#include "hosted/cleanup.h"

bool load_writer_alive(uint32_t pid, uint64_t start_time)
{
	char path[32], line[1024];
	unsigned long long found;

	if (!pid || !start_time)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);

	auto_fclose FILE *file = fopen(path, "re");

	if (!file || !fgets(line, sizeof(line), file))
		return false;

	// Field 2, the name, may contain anything; field 3 follows the last parenthesis.
	const char *p = strrchr(line, ')');

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p && sscanf(p, "%llu", &found) == 1 && found == start_time;
}
