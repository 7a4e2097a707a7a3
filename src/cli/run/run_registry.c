#include "cli/run/run_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/run/descriptor_inbox.h"
#include "hosted/cleanup.h"
#include "hosted/descriptors.h"
#include "hosted/now.h"
#include "hosted/vec.h"
#include "report/words/unseen.h"
#include "stream/link/link_set.h"

#define NAP_MS     50
#define SPARE      7                    /* a link, a module that is sent, looks into /proc */
#define SPARE_PART 8                    /* … but of few no more than this part */
#define NAPS_MOST  600                  /* at the end, while there are no descriptors */
#define END_NS     UINT64_C(2000000000) /* at the end, while messages keep coming */
#define KEPT_MOST  1000                 /* recordings that keep a descriptor … */
#define SHARE_MOST 100 /* … of one process, which may execute many programs … */
#define KEPT_PART  4   /* … but no more than this part of the limit */

struct run_registry {
	struct descriptor_inbox inbox;
	pthread_t thread;
	bool has_thread;
	int end; /* eventfd: the program has ended */
	pthread_mutex_t mutex;
	int news;                     /* eventfd of run_registry_notify(); -1: none */
	VEC(struct run_image) images; /* guarded by the mutex; changed by the thread alone */
	size_t kept_most;             /* the rest is the thread's until it has ended; 0: not set */
	bool refused;
	size_t kept, missing;
	struct started_programs started;
};

void run_registry_reopen(int *fd)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	own = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return;
	close(*fd);
	*fd = own;
}

/* Whether a path leads to the open file. It is not followed at its end, and nothing is opened. */
static bool leads_to(const char *path, int fd)
{
	auto_close int found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat there, here;

	return found >= 0 && fstat(found, &there) == 0 && fstat(fd, &here) == 0 &&
	       there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

char *run_registry_find_path(const char *label, int fd)
{
	char link[32], path[4096];
	ssize_t length;

	if (*label == '/' && leads_to(label, fd))
		return strdup(label);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return NULL;
	path[length] = '\0';
	return *path == '/' && leads_to(path, fd) ? strdup(path) : NULL;
}

static bool is_known(const struct run_registry *registry, const char *path)
{
	for (size_t i = 0; i < registry->images.count; i++) {
		const char *known = registry->images.items[i].path;

		if (known && strcmp(known, path) == 0)
			return true;
	}
	return false;
}

/* Whether a process may have another recording listed that keeps a descriptor. */
static bool has_share(const struct run_registry *registry, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; pid && i < registry->images.count; i++)
		kept += registry->images.items[i].fd >= 0 && registry->images.items[i].pid == pid;
	return kept < SHARE_MOST;
}

static void image_deinit(struct run_image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	free((char *)image->label);
	free((char *)image->path);
}

/*
 * Finds the owner of a recording. Root may act as another user while it records: then the file is
 * that user's, and may lie where that user can replace it.
 */
static void find_owner(struct run_image *image)
{
	struct stat status;

	if (image->uid || geteuid() || fstat(image->fd, &status) < 0 || !status.st_uid)
		return;
	image->uid = status.st_uid;
	image->gid = status.st_gid;
}

/* Fills in where one of our own recordings is. */
static void find_place(struct run_image *image)
{
	run_registry_reopen(&image->fd);
	if (!descriptor_inbox_in_memory(image->fd))
		image->path = run_registry_find_path(image->label, image->fd);
	if (!image->path)
		return;
	close(image->fd);
	image->fd = -1;
}

/* message->fd: taken over. */
static void add_image(struct run_registry *registry, const struct inbox_message *message)
{
	struct run_image image = {
		.pid = message->pid,
		.uid = message->uid,
		.gid = message->gid,
		.label = strdup(message->text),
		.fd = message->fd,
	};
	bool added = false, kept;

	find_owner(&image);
	if (image.uid == geteuid())
		find_place(&image);
	// Those in memory are the sender's, which closes them as they arrive.
	kept = image.fd >= 0 && !descriptor_inbox_in_memory(image.fd);
	if (kept && (registry->kept >= registry->kept_most || !has_share(registry, image.pid))) {
		registry->missing++;
	} else if (image.label && !(image.path && is_known(registry, image.path))) {
		pthread_mutex_lock(&registry->mutex);
		added = vec_push(&registry->images, image);
		registry->kept += added && kept;
		if (registry->news >= 0)
			eventfd_write(registry->news, 1);
		pthread_mutex_unlock(&registry->mutex);
	}
	if (!added)
		image_deinit(&image);
}

/*
 * Whether there are descriptors for one more recording, and some for those that send and watch. A
 * message that is taken without one loses its recording; until it is taken it waits in the socket.
 */
static bool has_descriptors(void)
{
	struct rlimit limit = {.rlim_cur = 0};
	size_t spare = 1, count = 0;
	int fds[1 + SPARE];

	// Of few descriptors fewer are left: a recording that is not taken is lost.
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= SPARE_PART * 2)
		spare = limit.rlim_cur / SPARE_PART - 1;
	spare = spare < SPARE ? spare : SPARE;
	while (count <= spare && (fds[count] = eventfd(0, EFD_CLOEXEC)) >= 0)
		count++;
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return count > spare;
}

/* Called when there is an image: so the program has begun, and does not inherit the limit. */
static void raise_limit(struct run_registry *registry)
{
	rlim_t limit = registry->kept_most ? 0 : descriptors_raise() / KEPT_PART;

	if (!registry->kept_most)
		registry->kept_most = limit < KEPT_MOST ? limit + 1 : KEPT_MOST;
}

/* Takes what has come, until that time. false: there are no descriptors for the rest now. */
static bool take_all(struct run_registry *registry, uint64_t until)
{
	struct inbox_message message;
	bool room;

	while ((room = has_descriptors()) && descriptor_inbox_take(&registry->inbox, &message)) {
		raise_limit(registry);
		registry->refused |= message.kind == REGISTRY_REFUSED;
		if (message.kind == REGISTRY_STARTED || message.kind == REGISTRY_REFUSED)
			started_programs_add(&registry->started, message.text);
		if (message.kind == REGISTRY_OPENED)
			add_image(registry, &message);
		else if (message.fd >= 0)
			close(message.fd);
		if (now_ns() > until)
			break;
	}
	return room;
}

static void nap(void)
{
	const struct timespec time = {.tv_nsec = NAP_MS * 1000000};

	nanosleep(&time, NULL);
}

static void *receive_images(void *argument)
{
	struct run_registry *registry = argument;
	struct pollfd polled[] = {{.fd = registry->end, .events = POLLIN},
				  {.fd = registry->inbox.poll, .events = POLLIN}};

	for (;;) {
		poll(polled, 2, -1);
		if (polled[0].revents)
			break;
		if (!take_all(registry, UINT64_MAX))
			nap();
	}
	for (int naps = 0; !take_all(registry, now_ns() + END_NS) && naps < NAPS_MOST; naps++)
		nap();
	return NULL;
}

struct err *run_registry_create(struct run_registry **ret)
{
	struct run_registry *registry = calloc(1, sizeof(*registry));
	struct err *err;
	int number;

	if (!registry)
		return err_no_memory();
	registry->inbox = DESCRIPTOR_INBOX_NONE;
	registry->news = -1;
	pthread_mutex_init(&registry->mutex, NULL);
	registry->end = eventfd(0, EFD_CLOEXEC);
	err = registry->end < 0 ? err_create_errno(errno, "cannot make an event")
				: descriptor_inbox_open(&registry->inbox);
	number = err ? 0 : link_set_thread(&registry->thread, receive_images, registry);
	registry->has_thread = !err && !number;
	if (number)
		err = err_create_errno(number, "cannot start a thread");
	if (err) {
		run_registry_destroy(registry);
		return err;
	}
	*ret = registry;
	return NULL;
}

void run_registry_destroy(struct run_registry *registry)
{
	if (!registry)
		return;
	run_registry_end(registry);
	for (size_t i = 0; i < registry->images.count; i++)
		image_deinit(&registry->images.items[i]);
	vec_deinit(&registry->images);
	started_programs_deinit(&registry->started);
	descriptor_inbox_close(&registry->inbox);
	if (registry->end >= 0)
		close(registry->end);
	pthread_mutex_destroy(&registry->mutex);
	free(registry);
}

const char *run_registry_variable(const struct run_registry *registry)
{
	return registry->inbox.variable;
}

int run_registry_inherited(const struct run_registry *registry)
{
	return registry->inbox.inherited;
}

size_t run_registry_count(struct run_registry *registry)
{
	size_t count;

	pthread_mutex_lock(&registry->mutex);
	count = registry->images.count;
	pthread_mutex_unlock(&registry->mutex);
	return count;
}

void run_registry_get(struct run_registry *registry, size_t i, struct run_image *ret)
{
	pthread_mutex_lock(&registry->mutex);
	*ret = registry->images.items[i];
	pthread_mutex_unlock(&registry->mutex);
}

void run_registry_notify(struct run_registry *registry, int event)
{
	pthread_mutex_lock(&registry->mutex);
	registry->news = event;
	pthread_mutex_unlock(&registry->mutex);
}

int run_registry_take(struct run_registry *registry, size_t i)
{
	int fd;

	pthread_mutex_lock(&registry->mutex);
	fd = registry->images.items[i].fd;
	registry->images.items[i].fd = -1;
	pthread_mutex_unlock(&registry->mutex);
	return fd;
}

void run_registry_end(struct run_registry *registry)
{
	if (!registry->has_thread)
		return;
	eventfd_write(registry->end, 1);
	pthread_join(registry->thread, NULL);
	registry->has_thread = false;
}

struct run_images run_registry_images(const struct run_registry *registry)
{
	return (struct run_images){
		.items = registry->images.items,
		.count = registry->images.count,
		.refused = registry->refused,
		.missing = registry->missing,
		.started = (const char *const *)registry->started.texts.items,
		.started_count = registry->started.texts.count,
	};
}

bool run_registry_is_used(struct run_registry *registry)
{
	return descriptor_inbox_is_used(&registry->inbox);
}

#define PROGRAMS_MOST 100

bool started_programs_add(struct started_programs *programs, const char *text)
{
	char *copy;

	for (size_t i = 0; i < programs->texts.count; i++)
		if (strcmp(programs->texts.items[i], text) == 0)
			return false;
	if (!strchr(text, '\n') || programs->texts.count >= PROGRAMS_MOST)
		return false;
	copy = strdup(text);
	if (copy && vec_push(&programs->texts, copy))
		return true;
	free(copy);
	return false;
}

void started_programs_deinit(struct started_programs *programs)
{
	for (size_t i = 0; i < programs->texts.count; i++)
		free(programs->texts.items[i]);
	vec_deinit(&programs->texts);
}

struct err *started_program_put(struct buf *buf, const char *text)
{
	auto_free char *why = strndup(text, strcspn(text, "\n"));
	const struct unseen unseen = {
		.kind = TRACE_UNSEEN_STARTED,
		.object = text + strcspn(text, "\n") + 1,
		.name = why,
	};

	if (!why)
		return err_no_memory();
	unseen_put(buf, NULL, &unseen);
	return buf_string(buf) ? NULL : err_no_memory();
}
