/*
 * Asks for reports of itself: threads whose sums are known, and sites of known functions.
 *
 *   reports threads|sites text|csv|json [all|filtered]
 *
 * Prints the report, or says "no report". Status 7.
 */
#include "sample.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BLOCKS 100

static void *blocks[BLOCKS];

static NOINLINE void *make_block(size_t size)
{
	void *block = keep(malloc(size));

	STAY();
	return block;
}

static NOINLINE void *make_and_free(size_t size)
{
	free(keep(malloc(size)));
	STAY();
	return NULL;
}

/* 100 blocks of 1000 bytes, and 50 of 10 that it frees. */
static void *maker(void *argument)
{
	prctl(PR_SET_NAME, "maker");
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = make_block(1000);
	for (int i = 0; i < 50; i++)
		make_and_free(10);
	return argument;
}

/* Frees 40 of the maker's, each a call by a thread of its own. */
static void *taker(void *argument)
{
	prctl(PR_SET_NAME, "taker");
	for (int i = 0; i < 20; i++)
		free(blocks[*(int *)argument + i]);
	return argument;
}

static void run(void *(*function)(void *argument), void *argument)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, function, argument) == 0);
	pthread_join(thread, NULL);
}

static int is_large(const struct mallow_site *site, void *argument)
{
	free(keep(malloc(1))); // a filter may allocate
	return site->allocated >= *(const uint64_t *)argument;
}

static int print_threads(enum mallow_format format)
{
	struct mallow_thread_report *report = mallow_thread_report();

	if (!report)
		return -1;
	REQUIRE(mallow_thread_report_print(report, STDOUT_FILENO, format) == 0);
	REQUIRE(mallow_thread_report_print(report, -1, format) == -1);
	mallow_thread_report_sort(report, MALLOW_BY_FREED);
	for (size_t i = 1; i < report->count; i++)
		REQUIRE(report->threads[i - 1]->freed >= report->threads[i]->freed);
	mallow_thread_report_free(report);
	return 0;
}

static int print_sites(enum mallow_format format, int filtered)
{
	uint64_t least = 100000;
	struct mallow_site_report *report = mallow_site_report(filtered ? is_large : NULL, &least);

	if (!report)
		return -1;
	for (size_t i = 0; i < report->count; i++)
		REQUIRE(!filtered || report->sites[i]->allocated >= least);
	REQUIRE(mallow_site_report_print(report, STDOUT_FILENO, format) == 0);
	mallow_site_report_sort(report, MALLOW_BY_CALLS);
	for (size_t i = 1; i < report->count; i++)
		REQUIRE(report->sites[i - 1]->calls >= report->sites[i]->calls);
	mallow_site_report_free(report);
	return 0;
}

int main(int argc, char **argv)
{
	enum mallow_format format;
	int first = 0, second = 20, result;

	REQUIRE(argc >= 3);
	format = !strcmp(argv[2], "csv") ? MALLOW_CSV : *argv[2] == 'j' ? MALLOW_JSON : MALLOW_TEXT;
	run(maker, NULL);
	run(taker, &first);
	run(taker, &second);
	result = *argv[1] == 't' ? print_threads(format) : print_sites(format, argc > 3);
	if (result)
		REQUIRE(write(STDOUT_FILENO, "no report\n", 10) == 10);
	return 7;
}
