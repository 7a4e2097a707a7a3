#include "server/http/pause.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct pause {
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool ended;
};

struct err *pause_create(struct pause **ret)
{
	struct pause *pause = calloc(1, sizeof(*pause));
	pthread_condattr_t monotonic;

	if (!pause)
		return err_no_memory();
	pthread_mutex_init(&pause->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&pause->ends, &monotonic);
	pthread_condattr_destroy(&monotonic);
	*ret = pause;
	return NULL;
}

void pause_destroy(struct pause *pause)
{
	if (!pause)
		return;
	pthread_cond_destroy(&pause->ends);
	pthread_mutex_destroy(&pause->lock);
	free(pause);
}

bool pause_wait(struct pause *pause, uint64_t seconds)
{
	struct timespec until;
	int status = 0;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	pthread_mutex_lock(&pause->lock);
	while (!pause->ended && status != ETIMEDOUT)
		status = pthread_cond_timedwait(&pause->ends, &pause->lock, &until);
	ended = pause->ended;
	pthread_mutex_unlock(&pause->lock);
	return !ended;
}

void pause_end(struct pause *pause)
{
	pthread_mutex_lock(&pause->lock);
	pause->ended = true;
	pthread_cond_broadcast(&pause->ends);
	pthread_mutex_unlock(&pause->lock);
}
