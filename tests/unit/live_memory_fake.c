#include "live_memory_fake.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/live/add.h"
#include "agent/live/live_memory.h"
#include "agent/pool.h"
#include "agent/slow.h"

size_t fake_memory_left = SIZE_MAX, fake_memory_leaves;

static struct {
	void *start;
	size_t size;
} taken[10000];
static size_t taken_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char several;

const char *add_alone_flag = &several;

/* Zeroed pages, touched as they are used. NULL: there are no more. Under the mutex. */
static void *take(size_t size)
{
	void *memory;

	if (!fake_memory_left || taken_count == 10000)
		return NULL;
	fake_memory_left--;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert(memory != MAP_FAILED);
	taken[taken_count].start = memory;
	taken[taken_count++].size = size;
	return memory;
}

void fake_memory_reset(void)
{
	for (size_t i = 0; i < taken_count; i++)
		munmap(taken[i].start, taken[i].size);
	taken_count = fake_memory_leaves = 0;
	fake_memory_left = SIZE_MAX;
}

void *pool_allocate(size_t size)
{
	void *memory;

	pthread_mutex_lock(&mutex);
	memory = take(size);
	pthread_mutex_unlock(&mutex);
	return memory;
}

void pool_release(void *memory, size_t size)
{
	(void)memory, (void)size; // with the others, at the end
}

static void *publish(void **place, size_t size, size_t *count)
{
	void *there;

	pthread_mutex_lock(&mutex);
	there = *place;
	if (!there) {
		there = take(size);
		*count += there != NULL;
		__atomic_store_n(place, there, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&mutex);
	return there;
}

void *live_memory_array(void *place, enum live_part part, uint32_t entry_size, uint64_t first,
			uint64_t count)
{
	static size_t arrays;

	(void)part, (void)first;
	return publish(place, entry_size * count, &arrays);
}

uint32_t *live_memory_leaf(uint32_t **place, uint64_t address, unsigned int map)
{
	assert(address % (UINT64_C(1) << live_leaf_bits(map)) == 0);
	return publish((void **)place, LIVE_LEAF_SIZE, &fake_memory_leaves);
}

bool slow_wait_lock(uint32_t *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		;
	return true;
}

void slow_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
