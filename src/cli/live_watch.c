#include "cli/live_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "trace/header_check.h"

#define TABLES_MOST 512 /* kept at once: what a process tree comes to while it runs */

struct live_watch {
	pthread_t thread;
	FILE *registry;
	int changes; /* inotify of the registry */
	int stop;    /* eventfd */
	bool any;
	VEC(int) tables;
};

static void watch_destroy(struct live_watch *watch)
{
	for (size_t i = 0; i < watch->tables.count; i++)
		close(watch->tables.items[i]);
	vec_deinit(&watch->tables);
	if (watch->registry)
		fclose(watch->registry);
	if (watch->changes >= 0)
		close(watch->changes);
	if (watch->stop >= 0)
		close(watch->stop);
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

/* A line of the registry. What cannot be opened any more has ended. */
static void take(struct live_watch *watch, const char *path)
{
	int table;

	watch->any = true;
	drop_ended(watch);
	table = watch->tables.count < TABLES_MOST ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (table >= 0 && !vec_push(&watch->tables, table))
		close(table);
}

/* Lines are whole: each is written at once. */
static void read_lines(struct live_watch *watch)
{
	auto_free char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	clearerr(watch->registry); // it may have grown
	while ((length = getline(&line, &capacity, watch->registry)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		take(watch, line);
	}
}

static void *wait_for_lines(void *argument)
{
	struct live_watch *watch = argument;
	struct pollfd polled[] = {{.fd = watch->changes, .events = POLLIN},
				  {.fd = watch->stop, .events = POLLIN}};
	char events[4096];

	for (;;) {
		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			return NULL;
		if (polled[1].revents)
			return NULL;
		if (polled[0].revents && read(watch->changes, events, sizeof(events)) > 0)
			read_lines(watch);
	}
}

/* Without signals: those of the tool are waited for by another thread. */
static int start_thread(struct live_watch *watch)
{
	sigset_t all, before;
	int number;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&watch->thread, NULL, wait_for_lines, watch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return number;
}

struct err *live_watch_start(const char *registry, struct live_watch **ret)
{
	cleanup(watch_destroy_at) struct live_watch *watch = calloc(1, sizeof(*watch));
	int number;

	if (!watch)
		return err_no_memory();
	watch->registry = fopen(registry, "re");
	watch->changes = inotify_init1(IN_CLOEXEC);
	watch->stop = eventfd(0, EFD_CLOEXEC);
	if (!watch->registry || watch->changes < 0 || watch->stop < 0 ||
	    inotify_add_watch(watch->changes, registry, IN_MODIFY) < 0)
		return err_create_errno(errno, "cannot watch '%s'", registry);
	number = start_thread(watch);
	if (number)
		return err_create_errno(number, "cannot start a thread");
	*ret = steal(&watch);
	return NULL;
}

void live_watch_end(struct live_watch *watch, void (*lost)(void *argument, int fd), void *argument,
		    bool *any)
{
	eventfd_write(watch->stop, 1);
	pthread_join(watch->thread, NULL);
	read_lines(watch);
	drop_ended(watch);
	*any = watch->any;
	for (size_t i = 0; i < watch->tables.count; i++)
		lost(argument, watch->tables.items[i]);
	watch_destroy(watch);
}
