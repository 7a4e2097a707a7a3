#include "cli/live_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "trace/header_check.h"

#define TABLES_MOST    512 /* kept at once: what a process tree comes to while it runs */
#define WAIT_S         5   /* for room in the socket, which is emptied all the time */
#define MEANS_A_REPORT 'r' /* the byte beside a descriptor; the agent's, of a table, is 0 */

struct live_watch {
	pthread_t thread;
	struct sockaddr_un address;
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": not made */
	int socket;
	int stop; /* eventfd */
	bool any;
	bool has_stderr; /* of its own: number 2 is no file that it opened itself */
	VEC(int) tables;
};

static void watch_destroy(struct live_watch *watch)
{
	for (size_t i = 0; i < watch->tables.count; i++)
		close(watch->tables.items[i]);
	vec_deinit(&watch->tables);
	if (watch->socket >= 0)
		close(watch->socket);
	if (watch->stop >= 0)
		close(watch->stop);
	if (*watch->directory) {
		unlink(watch->address.sun_path);
		rmdir(watch->directory);
	}
	free(watch);
}
CLEANUP_DEFINE(struct live_watch *, watch_destroy);

/* Whether its process has ended in a way in which it could report. */
static bool has_ended(int table)
{
	struct trace_header header;
	ssize_t got = pread(table, &header, sizeof(header), 0);

	return got < (ssize_t)sizeof(header) ||
	       header_check(&header, (size_t)got, &header) != HEADER_VALID ||
	       header.state == TRACE_STATE_ENDED;
}

static void drop_ended(struct live_watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->tables.count; i++) {
		int table = watch->tables.items[i];

		if (has_ended(table))
			close(table);
		else
			watch->tables.items[kept++] = table;
	}
	watch->tables.count = kept;
}

static void take(struct live_watch *watch, int table)
{
	watch->any = true;
	drop_ended(watch);
	if (watch->tables.count >= TABLES_MOST || !vec_push(&watch->tables, table))
		close(table);
}

/* In one write, as where it comes from. */
static void print(const struct live_watch *watch, int report)
{
	struct stat status;
	char *text;

	if (!watch->has_stderr || fstat(report, &status) < 0 || !status.st_size)
		return;
	text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, report, 0);
	if (text == MAP_FAILED)
		return;
	fwrite(text, 1, (size_t)status.st_size, stderr);
	munmap(text, (size_t)status.st_size);
}

/* All that wait in the socket. */
static void receive(struct live_watch *watch)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};

	for (;;) {
		struct cmsghdr *header;
		int fd;

		message.msg_controllen = sizeof(control);
		if (recvmsg(watch->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
			return;
		header = CMSG_FIRSTHDR(&message);
		if (!header || header->cmsg_type != SCM_RIGHTS ||
		    header->cmsg_len != CMSG_LEN(sizeof(int)))
			continue;
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
		if (byte != MEANS_A_REPORT) {
			take(watch, fd);
			continue;
		}
		print(watch, fd);
		close(fd);
	}
}

static void *wait_for_tables(void *argument)
{
	struct live_watch *watch = argument;
	struct pollfd polled[] = {{.fd = watch->socket, .events = POLLIN},
				  {.fd = watch->stop, .events = POLLIN}};

	for (;;) {
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (polled[1].revents)
			return NULL;
		receive(watch);
	}
}

/* Without signals: those of the tool are waited for by another thread. */
static int start_thread(struct live_watch *watch)
{
	sigset_t all, before;
	int number;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&watch->thread, NULL, wait_for_tables, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return number;
}

/* In a directory of its own, which nobody else can write to. */
static struct err *open_socket(struct live_watch *watch)
{
	const char *place = getenv("TMPDIR");
	struct sockaddr_un *address = &watch->address;
	char directory[sizeof(watch->directory)];

	// A long one does not fit into a socket's name.
	if (!place || !*place || strlen(place) > sizeof(directory) / 2)
		place = "/tmp";
	snprintf(directory, sizeof(directory), "%s/mallow-live-XXXXXX", place);
	if (!mkdtemp(directory))
		return err_create_errno(errno, "cannot make the directory '%s'", directory);
	memcpy(watch->directory, directory, sizeof(directory));
	address->sun_family = AF_UNIX;
	if ((size_t)snprintf(address->sun_path, sizeof(address->sun_path), "%s/tables",
			     directory) >= sizeof(address->sun_path))
		return err_create("'%s': too long for a socket", directory);
	watch->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (watch->socket < 0 ||
	    bind(watch->socket, (struct sockaddr *)address, sizeof(*address)) < 0)
		return err_create_errno(errno, "cannot make the socket '%s'", address->sun_path);
	return NULL;
}

struct err *live_watch_start(struct live_watch **ret)
{
	cleanup(watch_destroy_at) struct live_watch *watch = calloc(1, sizeof(*watch));
	struct err *err;
	int number;

	if (!watch)
		return err_no_memory();
	watch->socket = -1;
	watch->has_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
	watch->stop = eventfd(0, EFD_CLOEXEC);
	if (watch->stop < 0)
		return err_create_errno(errno, "cannot make an event");
	err = open_socket(watch);
	if (err)
		return err;
	number = start_thread(watch);
	if (number)
		return err_create_errno(number, "cannot start a thread");
	*ret = steal(&watch);
	return NULL;
}

const char *live_watch_path(const struct live_watch *watch)
{
	return watch->address.sun_path;
}

static bool send_report(int socket, const struct sockaddr_un *address, int report)
{
	const struct timeval patience = {.tv_sec = WAIT_S};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	char kind = MEANS_A_REPORT;
	struct iovec part = {.iov_base = &kind, .iov_len = 1};
	struct msghdr message = {.msg_name = (void *)address,
				 .msg_namelen = sizeof(*address),
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &report, sizeof(report));
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

bool live_watch_hand_over(const char *report, size_t size)
{
	const char *path = getenv("MALLOW_REGISTRY");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_close int socket_fd = -1, fd = -1;

	if (!path || strlen(path) >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, path, strlen(path));
	fd = memfd_create("mallow-report", MFD_CLOEXEC);
	socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && socket_fd >= 0 && write(fd, report, size) == (ssize_t)size &&
	       send_report(socket_fd, &address, fd);
}

void live_watch_end(struct live_watch *watch, void (*lost)(void *argument, int fd), void *argument,
		    bool *any)
{
	eventfd_write(watch->stop, 1);
	pthread_join(watch->thread, NULL);
	receive(watch);
	drop_ended(watch);
	*any = watch->any;
	for (size_t i = 0; i < watch->tables.count; i++)
		lost(argument, watch->tables.items[i]);
	watch_destroy(watch);
}
