#include "hosted/page_toucher.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hosted/parallel.h"

#define PAGE 4096u
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; an older kernel refuses it */
#endif

struct page_toucher {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct page_range ranges[PAGE_RANGES_MAX];
	size_t count; /* 0: nothing to do */
	bool ending;
};

static void touch(const struct page_range *range)
{
	uintptr_t begin = (uintptr_t)range->data, end = begin + range->size;
	uintptr_t first = (begin + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	end &= ~(uintptr_t)(PAGE - 1);
	if (end > first)
		madvise(range->data + (first - begin), end - first, MADV_POPULATE_WRITE);
}

static void *run(void *argument)
{
	struct page_toucher *toucher = argument;

	pthread_mutex_lock(&toucher->mutex);
	while (!toucher->ending) {
		size_t count = toucher->count;

		if (!count) {
			pthread_cond_wait(&toucher->changed, &toucher->mutex);
			continue;
		}
		// Without the mutex: nobody else writes to the ranges while count is set.
		pthread_mutex_unlock(&toucher->mutex);
		for (size_t i = 0; i < count; i++)
			touch(&toucher->ranges[i]);
		pthread_mutex_lock(&toucher->mutex);
		toucher->count = 0;
		pthread_cond_signal(&toucher->changed);
	}
	pthread_mutex_unlock(&toucher->mutex);
	return NULL;
}

static void free_toucher(struct page_toucher *toucher)
{
	pthread_cond_destroy(&toucher->changed);
	pthread_mutex_destroy(&toucher->mutex);
	free(toucher);
}

struct page_toucher *page_toucher_create(void)
{
	struct page_toucher *toucher = parallel_width() > 1 ? calloc(1, sizeof(*toucher)) : NULL;

	if (!toucher)
		return NULL;
	pthread_mutex_init(&toucher->mutex, NULL);
	pthread_cond_init(&toucher->changed, NULL);
	if (pthread_create(&toucher->thread, NULL, run, toucher) == 0)
		return toucher;
	free_toucher(toucher);
	return NULL;
}

void page_toucher_destroy(struct page_toucher *toucher)
{
	if (!toucher)
		return;
	pthread_mutex_lock(&toucher->mutex);
	toucher->ending = true;
	pthread_cond_signal(&toucher->changed);
	pthread_mutex_unlock(&toucher->mutex);
	pthread_join(toucher->thread, NULL);
	free_toucher(toucher);
}

void page_toucher_ask(struct page_toucher *toucher, const struct page_range *ranges, size_t count)
{
	if (!toucher)
		return;
	assert(count <= PAGE_RANGES_MAX);
	pthread_mutex_lock(&toucher->mutex);
	if (!toucher->count) {
		memcpy(toucher->ranges, ranges, count * sizeof(*ranges));
		toucher->count = count;
		pthread_cond_signal(&toucher->changed);
	}
	pthread_mutex_unlock(&toucher->mutex);
}

void page_toucher_wait(struct page_toucher *toucher)
{
	if (!toucher)
		return;
	pthread_mutex_lock(&toucher->mutex);
	while (toucher->count)
		pthread_cond_wait(&toucher->changed, &toucher->mutex);
	pthread_mutex_unlock(&toucher->mutex);
}
