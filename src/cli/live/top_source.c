#include "cli/live/top_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/recordings/file_kind.h"
#include "hosted/cleanup.h"
#include "trace/chunk_check.h"

static inline void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Whether fd is the recording that this process writes. */
static bool is_of(int fd, uint32_t pid)
{
	uint8_t data[sizeof(struct trace_header)];
	struct trace_header header;
	ssize_t got = pread(fd, data, sizeof(data), 0);

	return got > 0 && header_check(data, (size_t)got, &header) == HEADER_VALID &&
	       header.pid == pid && header.state == TRACE_STATE_RUNNING;
}

/* Opens the recording among the open files of a process. -1: it has none. */
static int open_of_process(uint32_t pid)
{
	cleanup(close_directory) DIR *directory = NULL;
	char path[300];
	const struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		int fd;

		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%s", pid, entry->d_name);
		// The file may be anything: a FIFO must not make this wait.
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 && is_of(fd, pid))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* The same for the processes that it started; the first that has one counts. */
static int open_of_children(uint32_t pid)
{
	char path[64];
	uint32_t child;
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/children", pid, pid);

	auto_fclose FILE *file = fopen(path, "re");

	while (fd < 0 && file && fscanf(file, "%" SCNu32, &child) == 1)
		fd = open_of_process(child);
	return fd;
}

static bool is_number(const char *word, uint32_t *ret)
{
	char *end;

	errno = 0;
	*ret = (uint32_t)strtoul(word, &end, 10);
	return *word >= '1' && *word <= '9' && !*end && !errno;
}

/* Records the process by attaching to it. */
static struct err *attach_process(uint32_t pid, struct top_source *ret)
{
	auto_err struct err *err = attach_background((pid_t)pid, &ret->attached);

	if (!err) {
		ret->fd = ret->attached.fd;
		return NULL;
	}
	return err_create("process %" PRIu32 " is not under mallow live or mallow run, and cannot "
			  "be attached to: %s",
			  pid, err_message(err));
}

struct err *top_source_open(const char *typed, struct top_source *ret)
{
	struct err *err;
	uint32_t pid;
	int fd;

	*ret = (struct top_source){.fd = -1};

	// A file may have a number as its name.
	if (access(typed, F_OK) < 0 && is_number(typed, &pid)) {
		fd = open_of_process(pid);
		if (fd < 0)
			fd = open_of_children(pid);
		if (fd < 0)
			return attach_process(pid, ret);
	} else {
		err = file_kind_check_own(typed, "does not change");
		if (err)
			return err;
		fd = open(typed, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return err_create_errno(errno, "%s", typed);
	}
	ret->fd = fd;
	return NULL;
}

void top_source_end(struct top_source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
	cli_report_err(attach_background_end(&source->attached));
}
