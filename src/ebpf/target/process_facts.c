#include "ebpf/target/process_facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hosted/cleanup.h"

static FILE *open_file(int proc, const char *name)
{
	auto_close int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (file)
		fd = -1;
	return file;
}

static void read_status(int proc, struct process_facts *ret)
{
	auto_fclose FILE *file = open_file(proc, "status");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		// Of each namespace, from ours on to its own.
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			ret->own_pid = (pid_t)strtol(last + 1, NULL, 10);
		else if (!strncmp(line, "Uid:", 4))
			sscanf(line, "Uid: %*u %u", &ret->user);
	}
}

static int64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void read_start(int proc, struct process_facts *ret)
{
	auto_fclose FILE *file = open_file(proc, "stat");
	char line[1024];
	int64_t ticks;

	if (!file || !fgets(line, sizeof(line), file))
		return;

	// The name, in parentheses, may hold anything; after it the start is the 20th field.
	const char *at = strrchr(line, ')');

	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	if (at && sscanf(at, "%" SCNd64, &ticks) == 1)
		ret->started_ns = now(CLOCK_REALTIME) - now(CLOCK_BOOTTIME) +
				  ticks * (1000000000 / sysconf(_SC_CLK_TCK));
}

void process_facts_read(int proc, struct process_facts *ret)
{
	*ret = (struct process_facts){0};
	read_status(proc, ret);
	read_start(proc, ret);
}
