/* The shadow of live blocks against a plain list of what is in it, and under several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include "agent/live/shadow.h"
#include "live_memory_fake.h"

static struct shadow shadow;
static struct shadow_near near;

static int setup(void **state)
{
	(void)state;
	shadow_release(&shadow);
	fake_memory_reset();
	near = (struct shadow_near){0};
	return 0;
}

static bool has(uint64_t address)
{
	struct shadow_block block;

	return shadow_change_owner(&shadow, address, 1, 1) ||
	       (shadow_take(&shadow, NULL, address, &block) &&
		shadow_put(&shadow, &near, address, block.fine ? 0 : UINT64_MAX, &block,
			   &(struct shadow_block){0}));
}

static struct shadow_block block_of(uint64_t address, uint64_t size)
{
	return (struct shadow_block){
		.owner = (uint32_t)(address >> 4 | 1),
		.time = shadow_time(address & 0xffffff, size),
		.size = size,
	};
}

/* As live.c does it: the short way first, where there is one. */
static void put(uint64_t address, uint64_t size, uint64_t usable)
{
	struct shadow_block block = block_of(address, size), stale = {0};

	assert_true(shadow_put_near(&near, address, usable, &block) ||
		    shadow_put(&shadow, &near, address, usable, &block, &stale));
	assert_int_equal(stale.owner, 0);
	assert_true(has(address));
}

static void take(uint64_t address, uint64_t size)
{
	struct shadow_block block = block_of(address, size), found;

	assert_true(shadow_take_near(&near, address, &found) ||
		    shadow_take(&shadow, &near, address, &found));
	assert_int_equal(found.owner, block.owner);
	assert_int_equal(found.time, block.time);
	assert_int_equal(found.size, size);
	assert_false(shadow_take(&shadow, &near, address, &found));
	assert_false(has(address));
}

/* At the edges of each plane's units, pages and pieces, alone and all at once. */
static void test_sizes_and_edges(void **state)
{
	static const uint64_t sizes[] = {0,    1,    16,    17,     511,    512,    513,
					 2047, 2048, 32768, 131071, 131072, 1 << 30};
	static const uint64_t edges[] = {0x1000,     0x3ff0,         0x8000,
					 0x3ffff0,   0x800000,       0x7ffffff0,
					 0x80008000, 0x7fff00000000, 0x7fffbffffff0};

	(void)state;
	for (size_t e = 0; e < sizeof(edges) / sizeof(*edges); e++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
			put(edges[e], sizes[s], sizes[s] < 24 ? 24 : sizes[s]);
			take(edges[e], sizes[s]);
		}
	for (size_t e = 0; e < sizeof(edges) / sizeof(*edges); e++)
		put(edges[e], sizes[e], sizes[e] < 24 ? 24 : sizes[e]);
	for (size_t e = 0; e < sizeof(edges) / sizeof(*edges); e++)
		take(edges[e], sizes[e]);
}

/* Of allocators that space small blocks by 8 bytes. */
static void test_fine(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4096; i++)
		put(0x5000 + i * 8, i % 9, 8);
	for (uint64_t i = 0; i < 4096; i++)
		take(0x5000 + i * 8, i % 9);
	put(0x9008, 300, 300);
	put(0x9008 + 304, 5000, 5000);
	take(0x9008, 300);
	take(0x9008 + 304, 5000);
}

static void test_what_has_no_place(void **state)
{
	struct shadow_block block = block_of(16, 100), stale;

	(void)state;
	assert_false(shadow_put(&shadow, &near, 0x1003, 100, &block, &stale));
	assert_false(shadow_put(&shadow, &near, UINT64_C(1) << 47, 100, &block, &stale));
	block.size = UINT64_C(1) << 48;
	assert_false(shadow_put(&shadow, &near, 0x1000, block.size, &block, &stale));
	block.size = 5000;
	assert_false(shadow_put(&shadow, &near, 0x1001, block.size, &block, &stale));
	assert_false(shadow_take(&shadow, &near, 0x1003, &block));
	assert_false(shadow_take(&shadow, NULL, UINT64_MAX - 15, &block));
	assert_false(shadow_take(&shadow, NULL, 0, &block));
}

/* The end of the block before was not seen. */
static void test_stale(void **state)
{
	static const uint64_t sizes[] = {24, 100, 511, 600, 3000, 200000};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct shadow_block block = block_of(0x40000, sizes[i]), stale, found;

		put(0x40000, sizes[i], sizes[i]);
		assert_true(shadow_put(&shadow, &near, 0x40000, sizes[i], &block, &stale));
		assert_int_equal(stale.size, sizes[i]);
		take(0x40000, sizes[i]);
		// A small one, and then a large one.
		put(0x40000, 48, 48);
		block.owner++;
		assert_true(shadow_put(&shadow, &near, 0x40000, sizes[i], &block, &stale));
		assert_int_equal(stale.size, 48);
		assert_true(shadow_take(&shadow, &near, 0x40000, &found));
		assert_int_equal(found.owner, block.owner);
		assert_false(has(0x40000));
	}
}

static void test_owners(void **state)
{
	static const struct {
		uint64_t address, size, usable;
	} blocks[] = {
		{0x1000, 24, 24}, {0x2008, 8, 8}, {0x3000, 700, 700}, {0x40008, 70000, 70000}};

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		struct shadow_block block = {.owner = 77, .size = blocks[i].size}, stale, found;
		uint64_t address = blocks[i].address;

		assert_false(shadow_change_owner(&shadow, address, 77, 88));
		assert_true(shadow_put(&shadow, &near, address, blocks[i].usable, &block, &stale));
		assert_false(shadow_change_owner(&shadow, address, 78, 88));
		assert_true(shadow_change_owner(&shadow, address, 77, 88));
		assert_true(shadow_take(&shadow, &near, address, &found));
		assert_int_equal(found.owner, 88);
		assert_int_equal(found.size, blocks[i].size);
		assert_int_equal(found.fine, i == 1);
	}
}

/* Looking does not make the kernel give memory to what was never written. */
static void test_looks_touch_nothing(void **state)
{
	struct shadow_block block;

	(void)state;
	for (uint64_t address = 0; address < UINT64_C(1) << 47; address += UINT64_C(1) << 30)
		assert_false(shadow_take(&shadow, &near, address, &block));
	assert_int_equal(fake_memory_pieces, 0);
}

static void test_no_memory(void **state)
{
	struct shadow_block block = block_of(0x1000, 64), stale;

	(void)state;
	for (size_t left = 0; left < 3; left++) {
		setup(NULL);
		fake_memory_left = left;
		assert_false(shadow_put(&shadow, &near, 0x1000, 64, &block, &stale));
		assert_false(has(0x1000));
	}
	fake_memory_left = 1;
	put(0x1000, 64, 64);
	// The second word in a piece of its own, for which there is none.
	assert_false(shadow_put(&shadow, &near, 0x3ffff0, 64, &block, &stale));
	assert_false(has(0x3ffff0));
	take(0x1000, 64);
}

#define THREADS 4
#define ROUNDS  200000
#define PLACES  4096

static uint32_t seats[PLACES]; /* as an allocator hands out memory: 1 while it is a thread's */

static void *hand_out(void *argument)
{
	struct shadow_near own = {0};
	uint32_t random = (uint32_t)(uintptr_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		struct shadow_block block, found;
		uint64_t address;
		uint32_t place, free = 0;

		random = random * 1103515245u + 12345u;
		place = random >> 16 & (PLACES - 1);
		address = 0x7000000000 + (uint64_t)place * 48;
		if (!__atomic_compare_exchange_n(&seats[place], &free, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		if (shadow_take_near(&own, address, &found) ||
		    shadow_take(&shadow, &own, address, &found)) {
			if (found.owner != place + 1 || found.size > 40)
				return "another's block";
		}
		block = (struct shadow_block){.owner = place + 1, .time = 1, .size = random & 31};
		if (random & 1 << 10) {
			found.owner = 0;
			if ((!shadow_put_near(&own, address, 40, &block) &&
			     !shadow_put(&shadow, &own, address, 40, &block, &found)) ||
			    found.owner)
				return "a block in its place";
		}
		__atomic_store_n(&seats[place], 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hand_out, (void *)(i + 1)), 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sizes_and_edges, setup),
		cmocka_unit_test_setup(test_fine, setup),
		cmocka_unit_test_setup(test_what_has_no_place, setup),
		cmocka_unit_test_setup(test_stale, setup),
		cmocka_unit_test_setup(test_owners, setup),
		cmocka_unit_test_setup(test_looks_touch_nothing, setup),
		cmocka_unit_test_setup(test_no_memory, setup),
		cmocka_unit_test_setup(test_threads, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
