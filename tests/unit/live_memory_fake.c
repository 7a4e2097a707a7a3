#include "live_memory_fake.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/arch/atomic_add.h"
#include "agent/ground/clock.h"
#include "agent/ground/lock.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/live_blocks/live_memory.h"

size_t fake_memory_left = SIZE_MAX, fake_memory_leaves;
void (*fake_memory_meanwhile)(void);
struct fake_part fake_parts[FAKE_PARTS];
size_t fake_part_count;

static struct {
	void *start;
	size_t size;
} taken[FAKE_PARTS];
static size_t taken_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char several;

const char *atomic_add_alone_flag = &several;

bool clock_use_tsc;
uint64_t fake_memory_ticks;

uint64_t clock_ticks_slow(void)
{
	return fake_memory_ticks;
}

/* No signal comes meanwhile, as in the agent: one may stop its thread until another one is here. */
static void begin_alone(sigset_t *signals)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, signals);
	pthread_mutex_lock(&mutex);
}

static void end_alone(const sigset_t *signals)
{
	pthread_mutex_unlock(&mutex);
	pthread_sigmask(SIG_SETMASK, signals, NULL);
}

/* Zeroed pages, touched as they are used. NULL: there are no more. Alone. */
static void *take(size_t size)
{
	void *memory;

	if (!fake_memory_left || taken_count == FAKE_PARTS)
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
	taken_count = fake_part_count = fake_memory_leaves = 0;
	fake_memory_left = SIZE_MAX;
}

void *own_pages_allocate(size_t size)
{
	void (*meanwhile)(void) = fake_memory_meanwhile;
	sigset_t signals;
	void *memory;

	begin_alone(&signals);
	memory = take(size);
	end_alone(&signals);
	if (meanwhile) {
		fake_memory_meanwhile = NULL;
		meanwhile();
	}
	return memory;
}

void own_pages_release(void *memory, size_t size)
{
	(void)memory, (void)size; // with the others, at the end
}

static void *publish(void **place, struct fake_part part)
{
	sigset_t signals;
	void *there;

	begin_alone(&signals);
	there = *place;
	if (!there)
		there = take(part.entry_size * part.count);
	if (there && !*place) {
		part.memory = there;
		fake_parts[fake_part_count++] = part;
		fake_memory_leaves += part.part == LIVE_PART_HEADS;
		__atomic_store_n(place, there, __ATOMIC_RELEASE);
	}
	end_alone(&signals);
	return there;
}

void *live_memory_array(void *place, enum live_part part, uint32_t entry_size, uint64_t first,
			uint64_t count)
{
	return publish(place, (struct fake_part){part, entry_size, first, count, NULL});
}

uint32_t *live_memory_leaf(uint32_t **place, uint64_t address, unsigned int map)
{
	assert(address % (UINT64_C(1) << live_leaf_bits(map)) == 0);
	return publish((void **)place, (struct fake_part){LIVE_PART_HEADS, LIVE_LEAF_SIZE,
							  address + 1 + map, 1, NULL});
}

void signal_bracket_begin(struct signal_bracket *bracket)
{
	(void)bracket;
}

void signal_bracket_end(struct signal_bracket *bracket)
{
	(void)bracket;
}

bool lock_wait(uint32_t *lock)
{
	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		;
	return true;
}

void lock_release(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
