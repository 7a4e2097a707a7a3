/* libFuzzer target: a list of code made at run time, as /tmp/perf-PID.map has it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct perf_map_time time = {.until_ns = INT64_MAX, .user = geteuid()};
	struct perf_map_place places[] = {{.address = 0},
					  {.address = 0x1000},
					  {.address = 0x1008},
					  {.address = 0x7f0000001000},
					  {.address = UINT64_MAX}};
	char path[] = "/tmp/fuzz_perf_map.XXXXXX";
	struct arena arena = {0};
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    perf_map_name(path, &time, &arena, places, 5))
		abort();
	for (size_t i = 0; i < 5; i++)
		if (places[i].name && (!*places[i].name || strchr(places[i].name, '\n') ||
				       places[i].offset > places[i].address))
			abort();
	arena_deinit(&arena);
	close(fd);
	unlink(path);
	return 0;
}
