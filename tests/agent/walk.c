/*
 * The list of all threads is gone through whenever the agent has cleared some memory of its own, as
 * another thread may do at any moment: it is never shorter than it was. Writes to the file
 * MALLOW_TEST_WALK_LOG at exit how often it was cut short, how many threads are in it, and how many
 * walks there were.
 */
#include "agent/ground/libc.h"
#include "agent/event/thread.h"
#include "log_count.h"

void *__real_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size);

static uint64_t longest, walks, cut;

static uint64_t length(void)
{
	uint64_t count = 0;

	for (const struct thread *thread = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);
	     thread; thread = thread->all_next)
		count++;
	return count;
}

/* It is pushed to at its front alone: who begins later finds as many at least. */
static void walk(void)
{
	uint64_t before = __atomic_load_n(&longest, __ATOMIC_ACQUIRE), now = length();

	__atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED);
	if (now < before)
		__atomic_fetch_add(&cut, 1, __ATOMIC_RELAXED);
	while (now > before && !__atomic_compare_exchange_n(&longest, &before, now, true,
							    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void *__wrap_memset(void *to, int value, size_t size)
{
	__real_memset(to, value, size);
	if (process && process_state() == PROCESS_RECORDING)
		walk();
	return to;
}

static __attribute__((destructor)) void report(void)
{
	log_count("MALLOW_TEST_WALK_LOG", "cut=", cut);
	log_count("MALLOW_TEST_WALK_LOG", "threads=", length());
	log_count("MALLOW_TEST_WALK_LOG", "walks=", walks);
}
