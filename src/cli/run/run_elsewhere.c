#include "cli/run/run_elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "trace/chunk_check.h"
#include "write/still_written.h"

#define NAMES_MOST 1000
#define COPY_STEP  (1 << 20)
#define TEXT_MOST  (1u << 20)
#define SILENCE_MS 600000

/* Makes a new file: DIRECTORY/NAME, or with .N behind it if that exists. -1: errno says why. */
static int create_beside(const char *directory, const char *label, char **path)
{
	const char *name = file_name(label);
	int fd = -1;

	errno = ENOENT;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		name = "sandboxed.mallow";
	for (int n = 0; fd < 0 && n < NAMES_MOST; n++) {
		char number[16] = "";

		if (n)
			snprintf(number, sizeof(number), ".%d", n);
		free(*path);
		if (asprintf(path, "%s/%s%s", directory, name, number) < 0) {
			*path = NULL;
			errno = ENOMEM;
			return -1;
		}
		fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

/* Returns 0 or the errno. */
static int copy_bytes(int from, int to)
{
	auto_free char *bytes = malloc(COPY_STEP);
	off_t at = 0;
	ssize_t got;

	if (!bytes)
		return ENOMEM;
	while ((got = pread(from, bytes, COPY_STEP, at)) > 0) {
		for (ssize_t done = 0, part; done < got; done += part) {
			part = pwrite(to, bytes + done, (size_t)(got - done), at + done);
			if (part < 0)
				return errno;
		}
		at += got;
	}
	return got < 0 ? errno : 0;
}

static bool read_header(int fd, struct trace_header *ret)
{
	uint8_t page[TRACE_PAGE];
	ssize_t got = pread(fd, page, sizeof(page), 0);

	return got > 0 && header_check(page, (size_t)got, ret) == HEADER_VALID;
}

/* The file is ours, and what it says another user's. Returns 0 or the errno. */
static int mark_foreign(int fd, const struct trace_header *header)
{
	const uint32_t flags = header->flags | TRACE_FOREIGN;

	return pwrite(fd, &flags, sizeof(flags), offsetof(struct trace_header, flags)) < 0 ? errno
											   : 0;
}

struct err *run_elsewhere_copy(const struct run_image *image, const char *directory, char **ret)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	struct trace_header header;
	int number;

	*ret = NULL;
	if (!read_header(image->fd, &header))
		return err_create("%s: not a recording that this mallow can read", image->label);
	if (still_written(image->fd, &header))
		return NULL;
	fd = create_beside(directory, image->label, &path);
	number = fd < 0 ? errno : copy_bytes(image->fd, fd);
	if (!number && image->uid != geteuid())
		number = mark_foreign(fd, &header);
	if (number) {
		if (fd >= 0)
			unlink(path);
		return err_create_errno(number,
					"'%s' of process %d cannot be reached from here, and "
					"not be copied to '%s'",
					image->label, (int)image->pid, directory);
	}
	*ret = steal(&path);
	return NULL;
}

/* Gives up our rights for the owner's. The kernel then keeps that user from looking into us. */
static bool become_owner(const struct run_image *image)
{
	if (geteuid())
		return true;
	return setgroups(0, NULL) == 0 && setresgid(image->gid, image->gid, image->gid) == 0 &&
	       setresuid(image->uid, image->uid, image->uid) == 0;
}

static __attribute__((noreturn)) void work_as_owner(const struct run_image *given, int channel,
						    run_foreign_work *work, void *argument)
{
	enum run_foreign_end end = RUN_FOREIGN_LEFT;
	struct run_image image = *given;
	struct trace_header header;
	bool root = geteuid() == 0;
	struct stat status;

	if (become_owner(given)) {
		run_registry_reopen(&image.fd);
		// Not with our own rights: the path is another user's.
		if (root)
			image.path = run_registry_find_path(image.label, image.fd);
		if (fstat(image.fd, &status) < 0 || !S_ISREG(status.st_mode) ||
		    !read_header(image.fd, &header))
			end = RUN_FOREIGN_NONE;
		else
			end = work(argument, &image, channel);
	}
	// A text has at least one byte: after its size comes the end.
	if (write(channel, &(uint32_t){0}, sizeof(uint32_t)) < 0 ||
	    write(channel, &end, sizeof(end)) < 0)
		_exit(1);
	_exit(0);
}

struct err *run_foreign_start(struct run_image *image, run_foreign_work *work, void *argument,
			      struct run_foreign *ret)
{
	int channel[2];
	pid_t pid;

	if (pipe2(channel, O_CLOEXEC) < 0)
		return err_create_errno(errno, "cannot make a pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(channel[0]);
		work_as_owner(image, channel[1], work, argument);
	}
	close(channel[1]);
	// Else we would count as who writes it.
	close(image->fd);
	image->fd = -1;
	if (pid < 0) {
		close(channel[0]);
		return err_create_errno(errno, "cannot start a process");
	}
	*ret = (struct run_foreign){.pid = pid, .channel = channel[0]};
	return NULL;
}

void run_foreign_send(int channel, const void *data, size_t size)
{
	const uint32_t length = size < TEXT_MOST ? (uint32_t)size : TEXT_MOST;
	const char *bytes = data;

	if (!length || write(channel, &length, sizeof(length)) < 0)
		return;
	for (size_t done = 0; done < length;) {
		ssize_t part = write(channel, bytes + done, length - done);

		if (part < 0)
			return;
		done += (size_t)part;
	}
}

/* false: the process has ended, or says nothing. */
static bool read_exactly(struct run_foreign *foreign, void *data, size_t size)
{
	struct pollfd polled = {.fd = foreign->channel, .events = POLLIN};
	size_t done = 0;

	while (done < size) {
		ssize_t got = 0;

		if (poll(&polled, 1, SILENCE_MS) > 0)
			got = read(foreign->channel, (char *)data + done, size - done);
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

void run_foreign_read(struct run_foreign *foreign, char **data, size_t *size)
{
	uint32_t length = 0;

	*data = NULL;
	*size = 0;
	if (!read_exactly(foreign, &length, sizeof(length)) || !length || length > TEXT_MOST)
		return;
	*data = malloc(length);
	if (*data && !read_exactly(foreign, *data, length)) {
		free(*data);
		*data = NULL;
	}
	*size = *data ? length : 0;
	// After the text comes 0, as after none.
	read_exactly(foreign, &length, sizeof(length));
}

enum run_foreign_end run_foreign_end(struct run_foreign *foreign)
{
	enum run_foreign_end end;

	if (!read_exactly(foreign, &end, sizeof(end)) || end > RUN_FOREIGN_NONE) {
		kill(foreign->pid, SIGKILL);
		end = RUN_FOREIGN_LOST;
	}
	close(foreign->channel);
	while (waitpid(foreign->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return end;
}
