#include "stream/link/link_set.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM_MS  3000
#define ENTER_MS 100
#define AGAIN_MS 200 /* where no connection can be accepted, as without descriptors */

struct task {
	struct link_set *set;
	void (*run)(void *argument);
	void *argument;
};

void link_set_init(struct link_set *set, size_t most)
{
	*set = (struct link_set){.most = most};
	pthread_mutex_init(&set->mutex, NULL);
	pthread_cond_init(&set->changed, NULL);
}

void link_set_deinit(struct link_set *set)
{
	vec_deinit(&set->links);
	pthread_cond_destroy(&set->changed);
	pthread_mutex_destroy(&set->mutex);
}

int link_set_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	int number;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return number;
}

static void end_thread(struct link_set *set)
{
	pthread_mutex_lock(&set->mutex);
	set->threads--;
	pthread_cond_broadcast(&set->changed);
	pthread_mutex_unlock(&set->mutex);
}

static void *run_task(void *argument)
{
	struct task task = *(struct task *)argument;

	free(argument);
	task.run(task.argument);
	end_thread(task.set);
	return NULL;
}

/* The first link that nobody trusts. NULL: there is none. */
static struct linked *find_stranger(const struct link_set *set)
{
	for (size_t i = 0; i < set->links.count; i++)
		if (!set->links.items[i].trusted)
			return &set->links.items[i];
	return NULL;
}

static struct timespec after_ms(long ms)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += ms / 1000;
	time.tv_nsec += ms % 1000 * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

static bool is_full(const struct link_set *set)
{
	return set->threads >= set->most && !set->stopping;
}

void link_set_make_room(struct link_set *set)
{
	struct timespec entered = after_ms(ENTER_MS), left = after_ms(ROOM_MS);
	struct linked *stranger;

	pthread_mutex_lock(&set->mutex);
	// A thread that has just begun enters its link soon; one that dials may take long.
	while (is_full(set) && !find_stranger(set) && set->links.count < set->threads &&
	       pthread_cond_timedwait(&set->changed, &set->mutex, &entered) == 0)
		;
	stranger = find_stranger(set);
	if (is_full(set) && stranger) {
		link_break(stranger->link);
		while (is_full(set) &&
		       pthread_cond_timedwait(&set->changed, &set->mutex, &left) == 0)
			;
	}
	pthread_mutex_unlock(&set->mutex);
}

bool link_set_start(struct link_set *set, void (*run)(void *argument), void *argument)
{
	struct task *task = malloc(sizeof(*task));
	pthread_t thread;
	bool good;

	if (!task)
		return false;
	*task = (struct task){.set = set, .run = run, .argument = argument};
	pthread_mutex_lock(&set->mutex);
	good = !set->stopping && set->threads < set->most;
	set->threads += good;
	pthread_mutex_unlock(&set->mutex);
	if (good && link_set_thread(&thread, run_task, task) == 0) {
		pthread_detach(thread);
		return true;
	}
	if (good)
		end_thread(set);
	free(task);
	return false;
}

struct accepted {
	link_set_serve *serve;
	void *argument;
	int fd;
};

static void serve_accepted(void *argument)
{
	struct accepted accepted = *(struct accepted *)argument;

	free(argument);
	accepted.serve(accepted.argument, accepted.fd);
}

void link_set_accept(struct link_set *set, int listener, int stop, link_set_serve *serve,
		     void (*full)(void *argument), void *argument)
{
	struct pollfd polled[] = {{.fd = listener, .events = POLLIN},
				  {.fd = stop, .events = POLLIN}};

	while (poll(polled, 2, -1) >= 0 || errno == EINTR) {
		struct accepted *accepted;
		int fd;

		if (polled[1].revents)
			break;
		if (!polled[0].revents)
			continue;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0) {
			poll(&polled[1], 1, AGAIN_MS);
			continue;
		}
		accepted = malloc(sizeof(*accepted));
		if (accepted) {
			*accepted = (struct accepted){serve, argument, fd};
			link_set_make_room(set);
			if (link_set_start(set, serve_accepted, accepted))
				continue;
			if (full)
				full(argument);
		}
		free(accepted);
		close(fd);
	}
}

bool link_set_enter(struct link_set *set, struct link *link)
{
	bool good;

	pthread_mutex_lock(&set->mutex);
	good = !set->stopping && vec_push(&set->links, (struct linked){.link = link});
	pthread_cond_broadcast(&set->changed);
	pthread_mutex_unlock(&set->mutex);
	return good;
}

static size_t find_locked(const struct link_set *set, const struct link *link)
{
	size_t i = 0;

	while (i < set->links.count && set->links.items[i].link != link)
		i++;
	return i;
}

void link_set_trust(struct link_set *set, const struct link *link)
{
	size_t i;

	pthread_mutex_lock(&set->mutex);
	i = find_locked(set, link);
	if (i < set->links.count)
		set->links.items[i].trusted = true;
	pthread_mutex_unlock(&set->mutex);
}

void link_set_leave(struct link_set *set, const struct link *link)
{
	size_t i;

	pthread_mutex_lock(&set->mutex);
	i = find_locked(set, link);
	if (i < set->links.count) {
		struct linked *items = set->links.items;

		memmove(items + i, items + i + 1, (--set->links.count - i) * sizeof(*items));
	}
	pthread_mutex_unlock(&set->mutex);
}

void link_set_stop(struct link_set *set)
{
	pthread_mutex_lock(&set->mutex);
	set->stopping = true;
	for (size_t i = 0; i < set->links.count; i++)
		link_break(set->links.items[i].link);
	pthread_mutex_unlock(&set->mutex);
}

void link_set_wait(struct link_set *set)
{
	pthread_mutex_lock(&set->mutex);
	while (set->threads)
		pthread_cond_wait(&set->changed, &set->mutex);
	pthread_mutex_unlock(&set->mutex);
}
