#include "hosted/pages.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hosted/page_size.h"
#include "hosted/parallel.h"

#define HUGE_PAGE ((size_t)2 << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; an older kernel refuses it */
#endif

/* Unmaps what lies before the first huge page, and behind the table's end. size bytes remain. */
static void *align_to_huge(char *pages, size_t size)
{
	size_t before = -(uintptr_t)pages & (HUGE_PAGE - 1);
	size_t behind = HUGE_PAGE - before;

	if (before)
		munmap(pages, before);
	if (behind)
		munmap(pages + before + size, behind);
	// Without huge pages the table works as well, only slower.
	(void)madvise(pages + before, size, MADV_HUGEPAGE);
	return pages + before;
}

void *pages_alloc(size_t size)
{
	bool huge = size >= HUGE_PAGE;
	void *pages;

	if (size > PTRDIFF_MAX - HUGE_PAGE)
		return NULL;
	// Whole pages: unmapping any other size would leave a piece behind.
	size = page_up(size);
	pages = mmap(NULL, size + (huge ? HUGE_PAGE : 0), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	return huge ? align_to_huge(pages, size) : pages;
}

void pages_free(void *pages, size_t size)
{
	if (pages)
		munmap(pages, page_up(size));
}

struct page_toucher {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct page_range ranges[PAGE_RANGES_MAX];
	size_t count; /* 0: nothing to do */
	bool ending;
};

static void touch_range(const struct page_range *range)
{
	uintptr_t begin = (uintptr_t)range->data, end = begin + range->size;
	uintptr_t first = page_up(begin);

	end = page_down(end);
	if (end > first)
		madvise(range->data + (first - begin), end - first, MADV_POPULATE_WRITE);
}

static void *run_toucher(void *argument)
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
			touch_range(&toucher->ranges[i]);
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
	if (pthread_create(&toucher->thread, NULL, run_toucher, toucher) == 0)
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
