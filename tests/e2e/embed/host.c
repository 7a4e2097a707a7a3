/*
 * The device as a program of this machine. Writes its memory to a file, and what must be in its
 * table to standard output, a line each:
 *
 *	table OFFSET SIZE	where in the file the table is
 *	site N calls bytes freed_calls freed_bytes peak_calls peak_bytes first since last
 *	block ADDRESS SIZE N	of the site N
 *	lost COUNT
 *
 *	host FILE known			known.c
 *	host FILE random SEED SIZE	random calls of 8 functions, in a table of SIZE bytes
 *	host FILE stacks COUNT SIZE	so many different stacks
 *	host FILE bare			with none of the callbacks that may be left out
 *	host FILE halts			some calls between two SIGSTOPs
 */
#include "device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES  8
#define BLOCKS 4000
#define START  5000000u /* what the clock shows at the start */

struct sums {
	unsigned long long calls, bytes, freed_calls, freed_bytes, peak_calls, peak_bytes;
	unsigned long long first, since, last;
};

struct live {
	void *block;
	size_t size;
	int site;     /* -1: it is not in the table */
	uint64_t sum; /* of what is in the block */
};

static struct sums sums[SITES];
static struct live live[BLOCKS];
static size_t live_count, recorded, recorded_max;
static unsigned long long lost;

static void fail(const char *what)
{
	fprintf(stderr, "host: %s\n", what);
	exit(1);
}

static struct mallow_embed_options options_of_device(void)
{
	return (struct mallow_embed_options){
		.allocate = heap_allocate,
		.release = heap_release,
		.reallocate = heap_reallocate,
		.allocate_aligned = heap_allocate_aligned,
		.backtrace = mallow_embed_frame_pointers,
		.clock = device_clock,
		.lock = device_lock,
		.unlock = device_unlock,
		.executable = "/device/firmware.elf",
		.id = "sixteen bytes id",
	};
}

static uint32_t random_below(uint32_t end)
{
	static uint64_t state;

	if (!end) // the seed is set
		return (uint32_t)(state = live_count);
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % end;
}

/* A pattern in the block, which a wrong realloc would lose. */
static uint64_t fill(struct live *one)
{
	unsigned char *bytes = one->block;
	uint64_t sum = 0;

	for (size_t i = 0; i < one->size; i++)
		sum += bytes[i] = (unsigned char)random_below(256);
	return sum;
}

static void check(const struct live *one, size_t size)
{
	const unsigned char *bytes = one->block;
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += bytes[i];
	if (size == one->size && sum != one->sum)
		fail("a block lost what was in it");
}

/* The model of an allocation. */
static void add(void *block, size_t size, int site)
{
	struct live *one = &live[live_count++];
	unsigned long long time = device_ns - START;
	struct sums *sum = &sums[site];

	*one = (struct live){block, size, recorded < recorded_max ? site : -1, 0};
	one->sum = fill(one);
	if (one->site < 0) {
		lost++;
		return;
	}
	recorded++;
	if (!sum->calls)
		sum->first = time;
	if (sum->calls == sum->freed_calls)
		sum->since = time;
	sum->last = time;
	sum->calls++;
	sum->bytes += size;
	if (sum->calls - sum->freed_calls > sum->peak_calls)
		sum->peak_calls = sum->calls - sum->freed_calls;
	if (sum->bytes - sum->freed_bytes > sum->peak_bytes)
		sum->peak_bytes = sum->bytes - sum->freed_bytes;
}

static void drop(size_t index)
{
	if (live[index].site >= 0) {
		recorded--;
		sums[live[index].site].freed_calls++;
		sums[live[index].site].freed_bytes += live[index].size;
	}
	live[index] = live[--live_count];
}

/* Each is a site. */
static NOINLINE void site_0(size_t size)
{
	add(mallow_embed_malloc(size), size, 0);
}

static NOINLINE void site_1(size_t size)
{
	add(mallow_embed_malloc(size), size, 1);
}

static NOINLINE void site_2(size_t size)
{
	add(mallow_embed_calloc(1, size), size, 2);
}

static NOINLINE void site_3(size_t size)
{
	void *block = mallow_embed_memalign(128, size);

	if ((uintptr_t)block % 128)
		fail("memalign() forgot the alignment");
	add(block, size, 3);
}

static NOINLINE void site_4(size_t size)
{
	add(mallow_embed_realloc(NULL, size), size, 4);
}

static NOINLINE void change(size_t index, size_t size, int site, void *(*function)(void *, size_t))
{
	struct live old = live[index];
	void *block;

	check(&old, old.size);
	block = function(old.block, size);
	if (!block) {
		if (size < ARENA)
			fail("realloc() found no room");
		return;
	}
	old.block = block;
	check(&old, size < old.size ? size : old.size);
	drop(index);
	add(block, size, site);
}

static NOINLINE void site_5(size_t index, size_t size)
{
	change(index, size, 5, mallow_embed_realloc);
}

/* Calls one of the sites, or frees a block. */
static void one_of_many(void)
{
	size_t index = live_count ? random_below((uint32_t)live_count) : 0;
	size_t size = random_below(10) ? random_below(200) : random_below(2000);
	void (*const functions[])(size_t) = {site_0, site_1, site_2, site_3, site_4};
	uint32_t what = random_below(12);

	device_ns += random_below(100000);
	if (!live_count || (what < 7 && live_count < 400)) {
		functions[what % 5](size);
	} else if (what < 9) {
		site_5(index, random_below(20) ? size + 1 : 2 * ARENA);
	} else {
		check(&live[index], live[index].size);
		mallow_embed_free(live[index].block);
		drop(index);
	}
}

/* Of a table of `size` bytes: the list's share, of which an eighth stays free. */
static size_t blocks_of(size_t size)
{
	size_t pages = size / 4096 - 1, sixth = pages / 6 ? pages / 6 : 1;
	size_t slots = ((pages - 3 * sixth) * 4096 - 96) / 24;

	return slots - slots / 8;
}

static size_t start(size_t size, const struct mallow_embed_options *options)
{
	size_t got;

	device_ns = START;
	got = mallow_embed_start(device_memory.table, size, options);
	if (got != size / 4096 * 4096)
		fail("the start was refused");
	return got;
}

static size_t run_random(unsigned int seed, size_t size)
{
	struct mallow_embed_options options = options_of_device();

	if (seed % 2) // then the table must have room for all blocks, to know their sizes
		options.reallocate = NULL;
	start(size, &options);
	recorded_max = blocks_of(size);
	live_count = seed;
	random_below(0);
	live_count = 0;
	for (int i = 0; i < 20000; i++)
		one_of_many();
	if (device_locks % 2)
		fail("the lock was not given back");
	return size;
}

static uintptr_t made_up[MALLOW_EMBED_DEPTH + 4];
static size_t made_up_count;

static size_t made_up_backtrace(uintptr_t *pcs, size_t max)
{
	size_t count = made_up_count < max ? made_up_count : max;

	memcpy(pcs, made_up, count * sizeof(*pcs));
	return count;
}

/* As many stacks as wanted, each of three frames; every second is freed. */
static size_t run_stacks(size_t count, size_t size)
{
	struct mallow_embed_options options = options_of_device();

	options.backtrace = made_up_backtrace;
	start(size, &options);
	for (size_t i = 0; i < count; i++) {
		void *block;

		made_up[0] = 0x10000 + 2 * i;
		made_up[1] = 0x20000 + 2 * (i % 10);
		made_up[2] = 0x30000;
		made_up_count = 3;
		block = mallow_embed_malloc(8);
		if (i % 2)
			mallow_embed_free(block);
	}
	made_up_count = 0; // a stack that is not found
	mallow_embed_malloc(16);
	return size;
}

static size_t run_bare(void)
{
	const struct mallow_embed_options options = {.allocate = heap_allocate,
						     .release = heap_release};
	uint64_t *unknown;

	if (mallow_embed_malloc(1) || mallow_embed_calloc(1, 1) || mallow_embed_realloc(NULL, 1))
		fail("there is an allocator before the start");
	mallow_embed_free(NULL);
	// Refused: too small, at an odd address. Then blocks are allocated, and not recorded.
	if (mallow_embed_start(device_memory.table, MALLOW_EMBED_MEMORY_MIN - 1, &options) ||
	    mallow_embed_start((char *)device_memory.table + 4, TABLE - 8, &options))
		fail("a start was not refused");
	unknown = mallow_embed_malloc(8);
	*unknown = 1;
	if (!mallow_embed_realloc(NULL, 4))
		fail("no allocator without a table");
	start(MALLOW_EMBED_MEMORY_MIN, &options);
	if (mallow_embed_memalign(16, 16))
		fail("memalign() without one");
	// Nobody knows how large it is.
	if (mallow_embed_realloc(unknown, 100) || *unknown != 1)
		fail("a block of unknown size was reallocated");
	mallow_embed_free(unknown);
	mallow_embed_free(mallow_embed_realloc(mallow_embed_malloc(30), 50));
	if (mallow_embed_realloc(mallow_embed_malloc(31), 0))
		fail("realloc() to 0 freed nothing");
	if (!mallow_embed_malloc(33))
		fail("no room");
	return MALLOW_EMBED_MEMORY_MIN;
}

/* In a table that is nearly full, so that blocks move when others are freed. */
static size_t run_halts(void)
{
	struct mallow_embed_options options = options_of_device();

	start(MALLOW_EMBED_MEMORY_MIN, &options);
	recorded_max = blocks_of(MALLOW_EMBED_MEMORY_MIN);
	live_count = 3;
	random_below(0);
	live_count = 0;
	while (live_count < recorded_max)
		site_0(16);
	raise(SIGSTOP);
	for (int i = 0; i < 12; i++) {
		size_t index = random_below((uint32_t)live_count);

		mallow_embed_free(live[index].block);
		drop(index);
		if (i % 3 == 2)
			site_5(0, 100);
		if (i == 3)
			site_1(24);
	}
	raise(SIGSTOP);
	return MALLOW_EMBED_MEMORY_MIN;
}

static size_t run_known(void)
{
	struct mallow_embed_options options = options_of_device();
	size_t size;
	int failed;

	options.thread = device_thread_now;
	options.build_id = "twenty bytes: build ";
	options.build_id_size = 20;
	size = start(TABLE, &options);
	failed = known_run();
	if (failed) {
		fprintf(stderr, "host: expectation %d of known.c\n", failed);
		exit(1);
	}
	return size;
}

static void print_model(size_t size)
{
	printf("table %zu %zu\n", offsetof(struct device_memory, table), size);
	for (int i = 0; i < SITES; i++) {
		const struct sums *sum = &sums[i];

		if (sum->calls)
			printf("site %d %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", i,
			       sum->calls, sum->bytes, sum->freed_calls, sum->freed_bytes,
			       sum->peak_calls, sum->peak_bytes, sum->first, sum->since, sum->last);
	}
	for (size_t i = 0; i < live_count; i++)
		if (live[i].site >= 0)
			printf("block %llu %zu %d\n", (unsigned long long)(uintptr_t)live[i].block,
			       live[i].size, live[i].site);
	printf("lost %llu\n", lost);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	FILE *file;
	size_t size = 0;

	if (strcmp(mode, "known") == 0)
		size = run_known();
	else if (strcmp(mode, "random") == 0 && argc > 4)
		size = run_random((unsigned int)atoi(argv[3]), (size_t)atoi(argv[4]));
	else if (strcmp(mode, "stacks") == 0 && argc > 4)
		size = run_stacks((size_t)atoi(argv[3]), (size_t)atoi(argv[4]));
	else if (strcmp(mode, "halts") == 0)
		size = run_halts();
	else if (strcmp(mode, "bare") == 0)
		size = run_bare();
	else
		fail("what?");
	file = fopen(argv[1], "wb");
	if (!file || fwrite(&device_memory, sizeof(device_memory), 1, file) != 1 || fclose(file))
		fail("the dump could not be written");
	print_model(size);
	return 0;
}
