#include "server/http/deadline.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"

#define SECOND UINT64_C(1000000000)

struct deadline {
	struct deadline *next, *previous;
	int fd;
	bool lifted;
	uint64_t since_ns; /* when the client's turn began */
};

struct deadlines {
	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t ended;
	bool end;
	struct deadline *first;
	uint64_t limit_ns;
	pthread_t watcher;
	bool watched;
};

/* Looks at all connections four times in the time that clients have. */
static void *watch_deadlines(void *argument)
{
	struct deadlines *deadlines = argument;

	pthread_mutex_lock(&deadlines->lock);
	while (!deadlines->end) {
		uint64_t now = now_ns(), next = now + deadlines->limit_ns / 4;
		struct timespec until = {(time_t)(next / SECOND), (long)(next % SECOND)};

		for (struct deadline *each = deadlines->first; each; each = each->next)
			if (!each->lifted && now - each->since_ns >= deadlines->limit_ns)
				shutdown(each->fd, SHUT_RDWR);
		pthread_cond_timedwait(&deadlines->ended, &deadlines->lock, &until);
	}
	pthread_mutex_unlock(&deadlines->lock);
	return NULL;
}

void deadlines_destroy(struct deadlines *deadlines)
{
	if (!deadlines)
		return;
	pthread_mutex_lock(&deadlines->lock);
	deadlines->end = true;
	pthread_cond_signal(&deadlines->ended);
	pthread_mutex_unlock(&deadlines->lock);
	if (deadlines->watched)
		pthread_join(deadlines->watcher, NULL);
	pthread_cond_destroy(&deadlines->ended);
	pthread_mutex_destroy(&deadlines->lock);
	free(deadlines);
}
CLEANUP_DEFINE(struct deadlines *, deadlines_destroy);

struct err *deadlines_create(unsigned int seconds, struct deadlines **ret)
{
	cleanup(deadlines_destroy_at) struct deadlines *deadlines = calloc(1, sizeof(*deadlines));
	pthread_condattr_t monotonic;
	int number;

	if (!deadlines)
		return err_no_memory();
	deadlines->limit_ns = seconds * SECOND;
	pthread_mutex_init(&deadlines->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&deadlines->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	number = pthread_create(&deadlines->watcher, NULL, watch_deadlines, deadlines);
	if (number)
		return err_create_errno(number, "cannot start a thread");
	deadlines->watched = true;
	*ret = steal(&deadlines);
	return NULL;
}

struct deadline *deadline_begin(struct deadlines *deadlines, int fd)
{
	struct deadline *deadline = calloc(1, sizeof(*deadline));

	if (!deadline)
		return NULL;
	deadline->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (deadline->fd < 0) {
		free(deadline);
		return NULL;
	}
	deadline->since_ns = now_ns();
	pthread_mutex_lock(&deadlines->lock);
	deadline->next = deadlines->first;
	if (deadline->next)
		deadline->next->previous = deadline;
	deadlines->first = deadline;
	pthread_mutex_unlock(&deadlines->lock);
	return deadline;
}

void deadline_end(struct deadlines *deadlines, struct deadline *deadline)
{
	if (!deadline)
		return;
	pthread_mutex_lock(&deadlines->lock);
	if (deadline->previous)
		deadline->previous->next = deadline->next;
	else
		deadlines->first = deadline->next;
	if (deadline->next)
		deadline->next->previous = deadline->previous;
	pthread_mutex_unlock(&deadlines->lock);
	close(deadline->fd);
	free(deadline);
}

static void begin_turn(struct deadlines *deadlines, struct deadline *deadline, bool lifted)
{
	if (!deadline)
		return;
	pthread_mutex_lock(&deadlines->lock);
	deadline->lifted = lifted;
	deadline->since_ns = now_ns();
	pthread_mutex_unlock(&deadlines->lock);
}

void deadline_set(struct deadlines *deadlines, struct deadline *deadline)
{
	begin_turn(deadlines, deadline, false);
}

void deadline_lift(struct deadlines *deadlines, struct deadline *deadline)
{
	begin_turn(deadlines, deadline, true);
}
