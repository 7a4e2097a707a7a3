#include "cli/run/run_ahead.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "hosted/proc.h"
#include "hosted/vec.h"

#define WORTH       (4 << 20)           /* a smaller file is loaded in a tenth of a second */
#define INTERVAL_NS UINT64_C(100000000) /* between two readings */
#define MEMORY_PART 4                   /* one part in so many of the available memory is used */

struct followed {
	struct growing *growing; /* NULL: not begun, or not possible */
	bool failed;
};

struct run_ahead {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool ending; /* guarded by the mutex; the rest is the thread's until it has ended */
	unsigned int needs;
	struct run_registry *registry; /* borrowed */
	VEC(struct followed) followed; /* for each image of the registry */
};

static void drop_all(struct run_ahead *ahead)
{
	for (size_t i = 0; i < ahead->followed.count; i++) {
		growing_close(ahead->followed.items[i].growing);
		ahead->followed.items[i] = (struct followed){.failed = true};
	}
}

static bool is_ending(struct run_ahead *ahead)
{
	bool ending;

	pthread_mutex_lock(&ahead->mutex);
	ending = ahead->ending;
	pthread_mutex_unlock(&ahead->mutex);
	return ending;
}

/* Reads a recording on. Whatever goes wrong will be said when it is loaded at the end. */
static void follow(struct run_ahead *ahead, const char *path, struct followed *followed)
{
	struct err *err = NULL;
	struct stat status;

	if (followed->failed || stat(path, &status) < 0 || status.st_size < WORTH)
		return;
	if (!followed->growing)
		err = growing_open(path, ahead->needs, &followed->growing);
	if (!err)
		err = growing_advance(followed->growing);
	if (!err)
		return;
	err_destroy(err);
	growing_close(followed->growing);
	*followed = (struct followed){.failed = true};
}

/* false: there is not memory enough to go on. */
static bool follow_all(struct run_ahead *ahead)
{
	size_t count = run_registry_count(ahead->registry);

	while (ahead->followed.count < count)
		if (!vec_push(&ahead->followed, (struct followed){0}))
			return false;
	for (size_t i = 0; i < count && !is_ending(ahead); i++) {
		struct run_image image;

		run_registry_get(ahead->registry, i, &image);
		if (image.path)
			follow(ahead, image.path, &ahead->followed.items[i]);
		if (process_memory_own() > available_memory() / MEMORY_PART)
			return false;
	}
	return true;
}

/* Waits so long. false: the program has ended. */
static bool wait_for_end(struct run_ahead *ahead, uint64_t ns)
{
	uint64_t until = now_ns() + ns;
	const struct timespec time = {
		.tv_sec = (time_t)(until / 1000000000),
		.tv_nsec = (long)(until % 1000000000),
	};
	int number = 0;
	bool ending;

	pthread_mutex_lock(&ahead->mutex);
	while (!ahead->ending && !number)
		number = pthread_cond_timedwait(&ahead->changed, &ahead->mutex, &time);
	ending = ahead->ending;
	pthread_mutex_unlock(&ahead->mutex);
	return !ending;
}

static void *run_thread(void *argument)
{
	const struct sched_param parameter = {0};
	struct run_ahead *ahead = argument;

	pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameter);
	// At idle priority it may go on and on: a pause in proportion to a reading would make each
	// reading longer than the one before, and leave the last of them for the end.
	while (wait_for_end(ahead, INTERVAL_NS)) {
		if (!follow_all(ahead)) {
			drop_all(ahead);
			break;
		}
	}
	return NULL;
}

/* Starts the thread with all signals blocked: they are for run_child(). */
static int start_thread(struct run_ahead *ahead)
{
	sigset_t all, before;
	int number;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&ahead->thread, NULL, run_thread, ahead);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return number;
}

struct run_ahead *run_ahead_start(struct run_registry *registry, unsigned int needs)
{
	struct run_ahead *ahead = calloc(1, sizeof(*ahead));
	pthread_condattr_t attributes;

	if (!ahead)
		return NULL;
	ahead->needs = needs;
	ahead->registry = registry;
	pthread_mutex_init(&ahead->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&ahead->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (start_thread(ahead) == 0)
		return ahead;
	run_ahead_destroy(ahead);
	return NULL;
}

void run_ahead_stop(struct run_ahead *ahead)
{
	const struct sched_param parameter = {0};

	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->mutex);
	ahead->ending = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->mutex);
	// Now somebody waits for it.
	pthread_setschedparam(ahead->thread, SCHED_OTHER, &parameter);
	pthread_join(ahead->thread, NULL);
}

void run_ahead_destroy(struct run_ahead *ahead)
{
	if (!ahead)
		return;
	drop_all(ahead);
	vec_deinit(&ahead->followed);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->mutex);
	free(ahead);
}

struct growing *run_ahead_take(struct run_ahead *ahead, size_t i)
{
	return ahead && i < ahead->followed.count ? steal(&ahead->followed.items[i].growing) : NULL;
}
