/*
 * Asks for reports of itself again and again while threads of changing names allocate, free each
 * other's blocks and end. Each report must agree with itself. Status 7.
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>

#define THREADS 4
#define SLOTS   64
#define REPORTS 200

static void *_Atomic slots[SLOTS];
static atomic_int stop;

static NOINLINE void exchange(unsigned int *random)
{
	unsigned int next = *random = *random * 1103515245u + 12345u;

	free(atomic_exchange(&slots[next >> 16 & (SLOTS - 1)], keep(malloc(next >> 20))));
	STAY();
}

static NOINLINE void deeper(unsigned int *random, int depth)
{
	if (depth)
		deeper(random, depth - 1);
	else
		exchange(random);
	STAY();
}

static void *allocate(void *argument)
{
	unsigned int random = (unsigned int)(uintptr_t)argument;
	char name[16];

	for (int i = 0; i < 300; i++) {
		if (i % 100 == 0) {
			snprintf(name, sizeof(name), "storm %u", random % 10);
			prctl(PR_SET_NAME, name);
		}
		deeper(&random, i % 5);
	}
	return NULL;
}

static void *keep_allocating(void *argument)
{
	uintptr_t seed = (uintptr_t)argument;

	while (!atomic_load(&stop)) {
		pthread_t thread;

		REQUIRE(pthread_create(&thread, NULL, allocate, (void *)seed++) == 0);
		pthread_join(thread, NULL);
	}
	return NULL;
}

static void check_threads(void)
{
	struct mallow_thread_report *report = mallow_thread_report();

	REQUIRE(report);
	for (size_t i = 0; i < report->count; i++) {
		const struct mallow_thread *thread = report->threads[i];
		uint64_t others = 0;

		REQUIRE(thread->in_use <= thread->allocated && *thread->name);
		REQUIRE(!i || report->threads[i - 1]->in_use >= thread->in_use);
		for (size_t j = 0; j < thread->freed_by_others_count; j++)
			others += thread->freed_by_others[j].bytes;
		REQUIRE(others <= thread->allocated_freed);
	}
	mallow_thread_report_free(report);
}

static int is_storm(const struct mallow_site *site, void *count)
{
	++*(int *)count;
	return site->depth > 2;
}

static void check_sites(FILE *nowhere)
{
	int count = 0;
	struct mallow_site_report *report = mallow_site_report(is_storm, &count);

	REQUIRE(report && report->count <= (size_t)count);
	for (size_t i = 0; i < report->count; i++) {
		const struct mallow_site *site = report->sites[i];

		REQUIRE(site->calls && site->in_use <= site->allocated && site->depth > 2);
		REQUIRE(!i || report->sites[i - 1]->in_use >= site->in_use);
	}
	REQUIRE(mallow_site_report_print(report, fileno(nowhere), MALLOW_JSON) == 0);
	mallow_site_report_free(report);
}

int main(void)
{
	FILE *nowhere = fopen("/dev/null", "w");
	pthread_t threads[THREADS];

	REQUIRE(nowhere);
	for (uintptr_t i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&threads[i], NULL, keep_allocating, (void *)(i * 1000)) ==
			0);
	for (int i = 0; i < REPORTS; i++) {
		check_threads();
		check_sites(nowhere);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("ok");
	return 7;
}
