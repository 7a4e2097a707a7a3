/* The table of live blocks against a plain list of what is in it, and under several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include "agent/live/block_table.h"
#include "live_memory_fake.h"

static struct block_table table;
static struct block_near near;

static int setup(void **state)
{
	(void)state;
	block_table_release(&table);
	fake_memory_reset();
	memset(&table, 0, sizeof(table));
	memset(&near, 0, sizeof(near));
	return 0;
}

static struct known_block block_of(uint64_t address, uint64_t size)
{
	return (struct known_block){
		.owner = (uint32_t)(address >> 3 & 0x3fffffff) | 1,
		.time = block_table_time((address & 0xffffff) << 10, size),
		.size = size,
	};
}

static void assert_block(const struct known_block *found, const struct known_block *expected)
{
	assert_int_equal(found->owner, expected->owner);
	assert_int_equal(found->time, expected->time);
	assert_int_equal(found->size, expected->size);
}

static bool has(uint64_t address)
{
	struct known_block block, stale;

	return block_table_take(&table, &near, address, &block) &&
	       block_table_put(&table, &near, address, &block, &stale);
}

static void put(uint64_t address, uint64_t size)
{
	struct known_block block = block_of(address, size), stale = {0};

	assert_true(block_table_put(&table, &near, address, &block, &stale));
	assert_int_equal(stale.owner, 0);
	assert_true(has(address));
}

static void take(uint64_t address, uint64_t size)
{
	struct known_block block = block_of(address, size), found;

	assert_true(block_table_take(&table, &near, address, &found));
	assert_block(&found, &block);
	assert_false(block_table_take(&table, &near, address, &found));
	assert_false(has(address));
}

static const uint64_t sizes[] = {0,       1,       16,         1022,          1023,
				 1024,    1025,    32767,      32768,         (1 << 20) - 1,
				 1 << 20, 1 << 30, 1ull << 38, UINT64_MAX / 2};
#define SIZES (sizeof(sizes) / sizeof(*sizes))

/* At the edges of regions, leaves and of all memory, alone and all at once. */
static void test_sizes_and_edges(void **state)
{
	static const uint64_t edges[] = {0,          8,          0x3f8,          0x400,
					 0xffff8,    0x100000,   0x7ffff8,       0x800000,
					 0x7ffffff8, 0x80000000, 0x1fffffff8,    0x200000000,
					 0x80008000, 0x3fffffff, 0x7fff00000000, 0x7ffffffffff8};

	(void)state;
	for (size_t e = 0; e < sizeof(edges) / sizeof(*edges); e++)
		for (size_t s = 0; s < SIZES; s++) {
			put(edges[e] & ~7ull, sizes[s]);
			take(edges[e] & ~7ull, sizes[s]);
		}
	for (size_t s = 0; s < SIZES; s++) {
		for (size_t e = 0; e < sizeof(edges) / sizeof(*edges); e++)
			put(edges[e] & ~7ull, sizes[(s + e) % SIZES]);
		for (size_t e = 0; e < sizeof(edges) / sizeof(*edges); e++)
			take(edges[e] & ~7ull, sizes[(s + e) % SIZES]);
	}
}

/* A block at each multiple of 8: several long groups in a region. */
static void test_dense(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 4096; i++)
			put(0x5000 + i * 8, i % 9);
		for (uint64_t i = 0; i < 4096; i++)
			take(0x5000 + i * 1001 % 4096 * 8, i * 1001 % 4096 % 9);
	}
}

/* Many small blocks: from the fourth one on, and in the regions behind those at once. */
static void test_full_groups(void **state)
{
	uint32_t cells;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		put(0x100000 + i * 48, 40);
	assert_int_equal(table.fulls.last, 0);
	put(0x100000 + 3 * 48, 40);
	assert_int_equal(table.fulls.last, 1);
	cells = table.cells.last;
	for (uint64_t i = 4; i < 64; i++)
		put(0x100000 + i * 48, 40);
	assert_int_equal(table.fulls.last, 3);
	assert_int_equal(table.cells.last, cells);
	for (uint64_t i = 0; i < 64; i++)
		take(0x100000 + i * 48, 40);
	// What is far from them, or large, is as before.
	put(0x100000 + 4 * 1024, 40);
	put(0x100000 + 3 * 1024, 100);
	assert_int_equal(table.fulls.last, 3);
}

/* What was there before its region got a full group, or has no place of its own in it. */
static void test_behind_full_groups(void **state)
{
	static const uint64_t starts[] = {0, 8, 16, 24, 32, 40, 0x3f8, 0x3e0};
	struct known_block block, stale, found;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
			put(0x100000 + starts[i], i);
		assert_int_equal(table.fulls.last, 1);
		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
			memset(&near, 0, sizeof(near));
			block = block_of(0x100000 + starts[i], 900);
			assert_true(block_table_put(&table, &near, 0x100000 + starts[i], &block,
						    &stale));
			assert_int_equal(stale.size, i);
			assert_true(block_table_change_owner(&table, 0x100000 + starts[i],
							     block.owner, 77));
		}
		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
			assert_true(block_table_take(&table, &near, 0x100000 + starts[i], &found));
			assert_int_equal(found.owner, 77);
			assert_int_equal(found.size, 900);
			assert_false(has(0x100000 + starts[i]));
		}
	}
	// None is left behind where there are more, either.
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		put(0x100000 + starts[i], i);
	block_table_empty(&table);
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		assert_false(has(0x100000 + starts[i]));
}

/* Chains serve where there is no number left, or no memory. */
static void test_no_full_groups(void **state)
{
	(void)state;
	table.fulls.last = LIVE_FULLS - 2;
	for (uint64_t i = 0; i < 64; i++) {
		put(0x100000 + i * 48, 40);
		put(0x900000 + i * 48, 40);
	}
	for (uint64_t i = 0; i < 64; i++) {
		take(0x100000 + i * 48, 40);
		take(0x900000 + i * 48, 40);
	}
	assert_int_equal(table.fulls.last, LIVE_FULLS - 1);
}

/* Whatever the distance of blocks, the table stays small, and is used again. */
static void test_cost(void **state)
{
	(void)state;
	for (uint64_t chunk = 32; chunk <= 1 << 22; chunk += chunk / 32 * 16) {
		uint64_t memory = chunk * 4096, bytes;

		setup(NULL);
		for (int round = 0; round < 2; round++) {
			for (uint64_t i = 0; i < 4096; i++)
				put(0x100000000 + i * chunk, chunk - 8);
			for (uint64_t i = 0; i < 4096; i++)
				take(0x100000000 + i * chunk, chunk - 8);
		}
		bytes = (uint64_t)table.cells.last * LIVE_CELL_SIZE +
			table.fulls.last * sizeof(struct live_full) +
			fake_memory_leaves * LIVE_LEAF_SIZE;
		// Less than three pages are not full.
		assert_true(bytes < 4096 * 48 + 3 * 4096);
		assert_true(bytes < memory * 3 / 10 + 3 * 4096);
	}
}

static void test_what_has_no_place(void **state)
{
	struct known_block block = block_of(16, 100), stale;

	(void)state;
	assert_false(block_table_put(&table, &near, 0x1003, &block, &stale));
	assert_false(block_table_put(&table, &near, UINT64_C(1) << 47, &block, &stale));
	block.size = 5000;
	assert_false(block_table_put(&table, &near, 0x1001, &block, &stale));
	assert_false(block_table_put(&table, &near, UINT64_C(1) << 63, &block, &stale));
	assert_false(block_table_take(&table, &near, 0x1003, &block));
	assert_false(block_table_take(&table, &near, UINT64_MAX - 15, &block));
	assert_false(block_table_take(&table, &near, 0, &block));
	assert_false(has(0x1001));
	assert_false(block_table_change_owner(&table, 0x1001, 1, 2));
}

/* The end of the block before was not seen. */
static void test_stale(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		struct known_block block = block_of(0x40000, sizes[i]), stale;

		put(0x40000, sizes[i]);
		assert_true(block_table_put(&table, &near, 0x40000, &block, &stale));
		assert_block(&stale, &block);
		take(0x40000, sizes[i]);
	}
	for (size_t i = 0; i < SIZES; i++)
		for (size_t j = 0; j < SIZES; j++) {
			struct known_block before = block_of(0x40000, sizes[i]);
			struct known_block block = block_of(0x40000, sizes[j]), stale, found;

			// A small one does not look for a large one.
			if (sizes[i] >= LIVE_LARGE_MIN && sizes[j] < LIVE_LARGE_MIN)
				continue;
			block.owner++;
			put(0x40000, sizes[i]);
			assert_true(block_table_put(&table, &near, 0x40000, &block, &stale));
			assert_block(&stale, &before);
			assert_true(block_table_take(&table, &near, 0x40000, &found));
			assert_block(&found, &block);
			assert_false(has(0x40000));
		}
}

static void test_owners(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		struct known_block block = block_of(0x123450, sizes[i]), stale, found;

		assert_false(block_table_change_owner(&table, 0x123450, block.owner, 88));
		assert_true(block_table_put(&table, &near, 0x123450, &block, &stale));
		assert_false(block_table_change_owner(&table, 0x123450, block.owner + 1, 88));
		assert_true(block_table_change_owner(&table, 0x123450, block.owner, 88));
		assert_true(block_table_take(&table, &near, 0x123450, &found));
		block.owner = 88;
		assert_block(&found, &block);
	}
}

static void test_empty(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		uint32_t last = table.cells.last;

		for (uint64_t i = 0; i < 1000; i++)
			put(0x7f0000000000 + i * 1000 / 8 * 8, sizes[i % SIZES]);
		if (round)
			assert_int_equal(table.cells.last, last);
		block_table_empty(&table);
		for (uint64_t i = 0; i < 1000; i++)
			assert_false(has(0x7f0000000000 + i * 1000 / 8 * 8));
	}
}

#define PLACES 3000

/* Blocks of all sizes that come and go over a few regions. */
static void test_random(void **state)
{
	static uint64_t live[PLACES]; /* size, plus 1; 0: none */
	uint32_t random = 20261122;

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint64_t place, address;

		random = random * 1103515245u + 12345u;
		place = (random >> 8) % PLACES;
		address = 0x55500000000 + place * place * 8;
		if (live[place]) {
			take(address, live[place] - 1);
			live[place] = 0;
		} else {
			struct known_block found;

			assert_false(block_table_take(&table, &near, address, &found));
			live[place] = sizes[random >> 4 & 7] + 1;
			put(address, live[place] - 1);
		}
	}
	for (uint64_t place = 0; place < PLACES; place++)
		if (live[place])
			take(0x55500000000 + place * place * 8, live[place] - 1);
}

/* Looking does not make the kernel give memory to what was never written. */
static void test_looks_touch_nothing(void **state)
{
	struct known_block block;

	(void)state;
	for (uint64_t address = 0; address < UINT64_C(1) << 47; address += UINT64_C(1) << 30)
		assert_false(block_table_take(&table, &near, address, &block));
	assert_int_equal(fake_memory_leaves, 0);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (size_t s = 0; s < SIZES; s++) {
		struct known_block block = block_of(0x1000, sizes[s]), stale;

		for (size_t left = 0; left < 4; left++) {
			setup(NULL);
			fake_memory_left = left;
			assert_false(block_table_put(&table, &near, 0x1000, &block, &stale));
			assert_false(has(0x1000));
		}
		fake_memory_left = 1;
		put(0x1000, sizes[s]);
		take(0x1000, sizes[s]);
	}
}

/* The last cells that there are numbers for. */
static void test_no_cells(void **state)
{
	struct known_block block = block_of(0x2000, 100), stale;

	(void)state;
	table.cells.last = LIVE_CELLS - 8;
	for (uint64_t i = 0; i < 4; i++)
		put(0x10000 + i * 0x400, 100);
	assert_false(block_table_put(&table, &near, 0x2000, &block, &stale));
	block.size = 5000;
	assert_false(block_table_put(&table, &near, 0x2000, &block, &stale));
	assert_false(has(0x2000));
	for (uint64_t i = 0; i < 8; i++)
		put(0x10000 + i % 4 * 0x400 + 8 + i / 4 * 8, 7);
}

#define THREADS 4
#define ROUNDS  200000
#define SEATS   4096

static uint32_t seats[SEATS]; /* as an allocator hands out memory: 1 while it is a thread's */
static bool kept[SEATS];      /* its block is in the table: of who has the seat */
static uint64_t apart;

static void *hand_out(void *argument)
{
	struct block_near own = {0};
	uint32_t random = (uint32_t)(uintptr_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		struct known_block block, found;
		uint32_t place, free = 0;
		uint64_t address;

		random = random * 1103515245u + 12345u;
		place = random >> 16 & (SEATS - 1);
		address = 0x7000000000 + place * apart;
		if (!__atomic_compare_exchange_n(&seats[place], &free, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		if (block_table_take(&table, &own, address, &found) != kept[place])
			return "a block that is not there, or should not";
		if (kept[place]) {
			if (found.owner != place + 1 || found.size % 1024 != place % 32)
				return "another's block";
		}
		block = (struct known_block){.owner = place + 1, .time = 1, .size = place % 32};
		if (random & 1 << 11)
			block.size += 1024;
		kept[place] = random & 1 << 10;
		if (kept[place]) {
			found.owner = 0;
			if (!block_table_put(&table, &own, address, &block, &found) || found.owner)
				return "a block in its place";
		}
		__atomic_store_n(&seats[place], 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Each block in 32 bytes of its own, and two and four that share them. */
static void test_threads(void **state)
{
	static const uint64_t distances[] = {48, 16, 8};
	pthread_t threads[THREADS];

	for (size_t d = 0; d < sizeof(distances) / sizeof(*distances); d++) {
		setup(state);
		apart = distances[d];
		memset(kept, 0, sizeof(kept));
		for (size_t i = 0; i < THREADS; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, hand_out, (void *)(i + 1)), 0);
		for (size_t i = 0; i < THREADS; i++) {
			void *wrong;

			assert_int_equal(pthread_join(threads[i], &wrong), 0);
			assert_null(wrong);
		}
		assert_true(table.fulls.last > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sizes_and_edges, setup),
		cmocka_unit_test_setup(test_dense, setup),
		cmocka_unit_test_setup(test_full_groups, setup),
		cmocka_unit_test_setup(test_behind_full_groups, setup),
		cmocka_unit_test_setup(test_no_full_groups, setup),
		cmocka_unit_test_setup(test_cost, setup),
		cmocka_unit_test_setup(test_what_has_no_place, setup),
		cmocka_unit_test_setup(test_stale, setup),
		cmocka_unit_test_setup(test_owners, setup),
		cmocka_unit_test_setup(test_empty, setup),
		cmocka_unit_test_setup(test_random, setup),
		cmocka_unit_test_setup(test_looks_touch_nothing, setup),
		cmocka_unit_test_setup(test_no_memory, setup),
		cmocka_unit_test_setup(test_no_cells, setup),
		cmocka_unit_test_setup(test_threads, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
