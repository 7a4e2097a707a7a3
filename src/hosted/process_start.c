#include "hosted/process_start.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"

uint64_t process_start_time(uint32_t pid)
{
	char path[32], line[1024];
	uint64_t found;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);

	auto_fclose FILE *file = fopen(path, "re");

	if (!file || !fgets(line, sizeof(line), file))
		return 0;

	// Field 2, the name, may contain anything; field 3 follows the last parenthesis.
	const char *p = strrchr(line, ')');

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p && sscanf(p, "%" SCNu64, &found) == 1 ? found : 0;
}
