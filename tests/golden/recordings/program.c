/*
 * The program of the recordings in this folder: a little of each thing that a recording can hold.
 * tests/e2e/tool/test_compatibility.py reads each as long as a tool promises to (compatibility.md).
 * They are never made anew. A new minor version of the format adds four, here of 1.12, and
 * MALLOW_ACCEPT=1 writes what is expected of them:
 *
 *	gcc -g -O1 -Iinclude -pthread -o program tests/golden/recordings/program.c
 *	mallow run --no-finish -o raw.mallow ./program
 *	cp raw.mallow finished.mallow && mallow finish --compress always finished.mallow
 *	MALLOW_MODE=live MALLOW_HELPER=tests/e2e/lib/keep_table.sh MALLOW_TEST_TABLES=tables \
 *		LD_PRELOAD=build/libmallow.so ./program		(live.mallow is the file in tables)
 *	valgrind --tool=massif --massif-out-file=massif.out ./program
 *	mallow import massif.out -o sums.mallow
 *	gzip -9 -n <raw.mallow >1.12-raw.mallow.gz		(and so on)
 */
#include <mallow/mallow.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))

static void *volatile kept[8];

static NOINLINE void *cache(size_t size)
{
	void *block = malloc(size);

	memset(block, 1, size);
	return block;
}

static NOINLINE void grow(void)
{
	for (size_t i = 1; i <= 5; i++)
		kept[0] = realloc(kept[0], i * 10000);
}

static NOINLINE void *work(void *argument)
{
	mallow_set_tag(7);
	for (int i = 0; i < 50; i++)
		free(cache(100));
	kept[1] = cache(20000);
	free(argument);
	return NULL;
}

int main(void)
{
	static char pool[1024];
	pthread_t thread;

	mallow_mark("begin");
	grow();
	pthread_create(&thread, NULL, work, cache(300));
	pthread_join(thread, NULL);
	mallow_pool_name(pool, "requests");
	mallow_pool_alloc(pool, pool + 64, 100);
	mallow_pool_alloc(pool, pool + 256, 200);
	mallow_pool_free(pool, pool + 64);
	kept[2] = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(kept[2], 16384);
	kept[3] = aligned_alloc(64, 640);
	kept[4] = calloc(3, 1000);
	mallow_stop();
	free(cache(5000));
	mallow_start();
	free(kept[3]);
	mallow_mark("end");
	return 0;
}
