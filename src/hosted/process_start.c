#include "hosted/process_start.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"

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
