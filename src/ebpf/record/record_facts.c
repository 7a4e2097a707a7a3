#include "ebpf/record/record_facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"

#define ARGUMENTS_MAX 32000

static ssize_t read_file(const struct target *target, const char *name, char *ret, size_t room)
{
	auto_close int fd = openat(target->proc, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : read(fd, ret, room);
}

static void put_fact(struct recording_file *file, enum trace_process_field field, const void *text,
		     size_t size)
{
	const uint64_t number = field;

	recording_file_fact(file, 0,
			    &(struct recording_fact){.kind = TRACE_RECORD_PROCESS,
						     .fields = &number,
						     .count = 1,
						     .text = text,
						     .size = size});
}

void record_facts_process(const struct target *target, struct recording_file *file)
{
	char arguments[ARGUMENTS_MAX], directory[PATH_MAX];
	ssize_t size = read_file(target, "cmdline", arguments, sizeof(arguments));
	struct utsname host;

	put_fact(file, TRACE_PROCESS_EXECUTABLE, target->program, strlen(target->program));
	if (size > 0)
		put_fact(file, TRACE_PROCESS_ARGUMENTS, arguments, (size_t)size);
	size = readlinkat(target->proc, "cwd", directory, sizeof(directory));
	if (size > 0)
		put_fact(file, TRACE_PROCESS_DIRECTORY, directory, (size_t)size);
	uname(&host);
	put_fact(file, TRACE_PROCESS_HOST, host.nodename, strlen(host.nodename));
	put_fact(file, TRACE_PROCESS_KERNEL, host.release, strlen(host.release));
	put_fact(file, TRACE_PROCESS_AGENT, MALLOW_VERSION, strlen(MALLOW_VERSION));
}

void record_facts_memory(const struct target *target, uint64_t now_ns, struct recording_file *file)
{
	// In the order of the record's fields.
	static const char *const lines[] = {
		"\nVmSize:", "\nVmRSS:", "\nRssAnon:", "\nRssFile:", "\nRssShmem:", "\nVmSwap:"};
	uint64_t values[ARRAY_COUNT(lines)] = {0};
	char text[4096];
	ssize_t size = read_file(target, "status", text, sizeof(text) - 1);
	bool known = false;

	if (size <= 0)
		return;
	text[size] = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
		const char *found = strstr(text, lines[i]);

		if (found)
			values[i] = strtoull(found + strlen(lines[i]), NULL, 10) * 1024;
		known = known || found;
	}
	// A process that has ended has no memory.
	if (known)
		recording_file_fact(file, 0,
				    &(struct recording_fact){.kind = TRACE_RECORD_MEMORY,
							     .has_time = true,
							     .ticks = now_ns,
							     .fields = values,
							     .count = ARRAY_COUNT(values)});
}

bool record_facts_thread_name(const struct target *target, uint32_t tid, char ret[RECORD_NAME_SIZE])
{
	char path[64];
	ssize_t size;

	snprintf(path, sizeof(path), "task/%" PRIu32 "/comm", tid);
	size = read_file(target, path, ret, RECORD_NAME_SIZE);
	if (size <= 0)
		return false;
	ret[size - 1] = '\0'; // in place of the line's end
	return true;
}
