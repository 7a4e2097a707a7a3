#include "cli/run_ahead.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/run_registry.h"
#include "hosted/available_memory.h"
#include "hosted/now.h"
#include "hosted/process_memory.h"
#include "hosted/vec.h"

#define WORTH       (4 << 20)           /* a smaller file is loaded in a tenth of a second */
#define INTERVAL_NS UINT64_C(100000000) /* between two readings … */
#define SHARE       4 /* … or so many times the processor time of one, if that is longer */
#define MEMORY_PART 4 /* one part in so many of the available memory is used */

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
	struct run_registry registry;  /* path is borrowed */
	VEC(struct followed) followed; /* for each recording of the registry */
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
	err_destroy(run_registry_read(&ahead->registry));
	while (ahead->followed.count < ahead->registry.count)
		if (!vec_push(&ahead->followed, (struct followed){0}))
			return false;
	for (size_t i = 0; i < ahead->registry.count && !is_ending(ahead); i++) {
		follow(ahead, ahead->registry.recordings[i], &ahead->followed.items[i]);
		if (process_memory_own() > available_memory() / MEMORY_PART)
			return false;
	}
	return true;
}

/* Waits so long. false: the program has ended. */
static bool wait(struct run_ahead *ahead, uint64_t ns)
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

/* The processor time of this thread. What it takes in all depends on what others do. */
static uint64_t used_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *run(void *argument)
{
	const struct sched_param parameter = {0};
	struct run_ahead *ahead = argument;
	uint64_t took = 0;

	pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameter);
	while (wait(ahead, took * SHARE > INTERVAL_NS ? took * SHARE : INTERVAL_NS)) {
		uint64_t before = used_ns();

		if (!follow_all(ahead)) {
			drop_all(ahead);
			break;
		}
		took = used_ns() - before;
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
	number = pthread_create(&ahead->thread, NULL, run, ahead);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return number;
}

struct run_ahead *run_ahead_start(const char *registry, unsigned int needs)
{
	struct run_ahead *ahead = calloc(1, sizeof(*ahead));
	pthread_condattr_t attributes;

	if (!ahead)
		return NULL;
	ahead->needs = needs;
	ahead->registry.path = (char *)registry;
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
	ahead->registry.path = NULL; // it is not ours
	run_registry_deinit(&ahead->registry);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->mutex);
	free(ahead);
}

struct growing *run_ahead_take(struct run_ahead *ahead, const char *path)
{
	for (size_t i = 0; ahead && i < ahead->followed.count; i++) {
		struct growing *growing = ahead->followed.items[i].growing;

		if (!growing || strcmp(ahead->registry.recordings[i], path) != 0)
			continue;
		ahead->followed.items[i].growing = NULL;
		return growing;
	}
	return NULL;
}
