/* The table of live blocks against a plain list of what is in it, and under several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <cmocka.h>

#include "agent/live_blocks/block_table.h"
#include "agent/live_blocks/block_table_fast.h"
#include "agent/live_blocks/reclaim.h"
#include "agent/live_blocks/small_blocks.h"
#include "live_memory_fake.h"
#include "often.h"

static struct block_table table;
static struct block_near near;
static struct reclaim reclaim;

static int setup(void **state)
{
	(void)state;
	block_table_release(&table);
	fake_memory_reset();
	memset(&table, 0, sizeof(table));
	memset(&near, 0, sizeof(near));
	memset(&reclaim, 0, sizeof(reclaim));
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

/* Blocks at those places of a region, of sizes from `size` on, each put twice, with two owners. */
static void replace_all(const uint64_t *starts, size_t count, uint64_t size)
{
	struct known_block block, stale, found;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < count; i++)
			put(0x100000 + starts[i], size + i);
		for (size_t i = 0; i < count; i++) {
			memset(near.met, 0, sizeof(near.met));
			block = block_of(0x100000 + starts[i], 900);
			assert_true(block_table_put(&table, &near, 0x100000 + starts[i], &block,
						    &stale));
			assert_int_equal(stale.size, size + i);
			assert_true(block_table_change_owner(&table, 0x100000 + starts[i],
							     block.owner, 77));
		}
		for (size_t i = 0; i < count; i++) {
			assert_true(block_table_take(&table, &near, 0x100000 + starts[i], &found));
			assert_int_equal(found.owner, 77);
			assert_int_equal(found.size, 900);
			assert_false(has(0x100000 + starts[i]));
		}
	}
	// None is left behind where there are more, either.
	for (size_t i = 0; i < count; i++)
		put(0x100000 + starts[i], size + i);
	block_table_empty(&table);
	for (size_t i = 0; i < count; i++)
		assert_false(has(0x100000 + starts[i]));
}

/* What was there before its region got a full group, or has no place of its own in it. */
static void test_behind_full_groups(void **state)
{
	static const uint64_t starts[] = {0, 8, 16, 24, 32, 40, 0x3f8, 0x3e0};

	(void)state;
	replace_all(starts, sizeof(starts) / sizeof(*starts), 0);
	assert_int_equal(table.fulls.last, 1);
}

/*
 * What was there before its region got a wide group, of 15 entries or of 7, or whose own entry in
 * there is another's; and what makes a second one necessary.
 */
static void test_wide_groups(void **state)
{
	static const uint64_t starts[] = {0,   64,  128, 192, 320, 328,  384,
					  448, 512, 576, 640, 704, 1016, 960};
	static const uint64_t crowd[] = {0,   8,   64,  72,  128, 136, 192, 200, 256, 264,
					 320, 328, 384, 392, 448, 456, 512, 520, 576, 584,
					 640, 648, 704, 712, 768, 776, 832, 840, 896, 904};

	(void)state;
	replace_all(starts, sizeof(starts) / sizeof(*starts), 100);
	setup(NULL);
	replace_all(starts, sizeof(starts) / sizeof(*starts), 300);
	setup(NULL);
	replace_all(crowd, sizeof(crowd) / sizeof(*crowd), 100);
	assert_int_equal(table.fulls.last, 0);
}

/* An entry of its own is found without a look at the others, and no other thread's claim is lost.
 */
static void test_own_entries(void **state)
{
	struct known_block block = block_of(0x100200, 100);
	const uint32_t *head;

	(void)state;
	for (uint64_t start = 0; start < 512; start += 128)
		put(0x100000 + start, 100);
	head = heads_near_find(&near.heads, 0x100200);
	assert_true(small_blocks_is_wide(*head));
	assert_true(block_table_put_fast(&table, &near, head, 0x100200, &block, true));
	assert_false(block_table_put_fast(&table, &near, head, 0x100208, &block, true));
	take(0x100200, 100);
	// In there since: one may be elsewhere that is put again.
	put(0x100200, 100);
	put(0x100208, 100);
	take(0x100200, 100);
	memset(near.met, 0, sizeof(near.met));
	assert_false(block_table_put_fast(&table, &near, head, 0x100208, &block, true));
	take(0x100208, 100);
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
	for (int i = 0; i < OFTEN(1000000); i++) {
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

/* All round, from the start, while nobody else uses the table. Returns the cells that are free now.
 */
static uint32_t reclaim_all(void)
{
	enum reclaim_found found;
	uint32_t freed = 0;

	do {
		found = reclaim_begin(&reclaim, &table);
		if (found == RECLAIM_FOUND_SOME)
			freed += reclaim_end(&reclaim, &table);
	} while (found != RECLAIM_FOUND_END);
	return freed;
}

/* The groups of what is empty in a map are leaving, those of others have left. */
static void begin_reclaim(unsigned int map)
{
	for (int i = 0; i < 100; i++) {
		if (reclaim_begin(&reclaim, &table) != RECLAIM_FOUND_SOME)
			continue;
		if (reclaim.map == map)
			return;
		reclaim_end(&reclaim, &table);
	}
	fail();
}

/* So many that the region has a full group, and the first three are behind it. */
#define CROWD 12

static void put_crowd(uint64_t region)
{
	for (uint64_t i = 0; i < CROWD; i++)
		put(region + i * 48, 40);
}

static void take_crowd(uint64_t region, uint64_t first)
{
	for (uint64_t i = first; i < CROWD; i++)
		take(region + i * 48, 40);
}

/* The next region has the groups of the one before. */
static void test_reclaim(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		put_crowd(0x100000 + i * 0x10000);
		put(0x50000000 + i * 0x10000, 5000);
		assert_int_equal(table.fulls.last, 1);
		assert_int_equal(reclaim_all(), 0);
		take_crowd(0x100000 + i * 0x10000, 0);
		take(0x50000000 + i * 0x10000, 5000);
		assert_int_equal(reclaim_all(), RECLAIM_FULL_CELLS + 1);
		assert_int_equal(reclaim_all(), 0);
	}
	// One for each chain of small blocks, which stay with their regions, and one.
	assert_in_range(table.cells.last, 100, 104);
}

/* What is in the chain behind a full group stays where it is. */
static void test_reclaim_in_front_of_chains(void **state)
{
	(void)state;
	for (uint64_t region = 0x100000; region < 0x200000; region += 0x4000) {
		put_crowd(region);
		put(region + 11 * 48 + 8, 1); // in the 32 bytes of another
		take_crowd(region, 3);
		assert_int_equal(reclaim_all(), RECLAIM_FULL_CELLS);
		memset(&near, 0, sizeof(near));
		for (uint64_t i = 0; i < 3; i++)
			take(region + i * 48, 40);
		take(region + 11 * 48 + 8, 1);
	}
	assert_int_equal(table.fulls.last, 1);
}

/* Whoever comes while a group is leaving. */
static void test_reclaim_stays(void **state)
{
	struct known_block block, stale;

	(void)state;
	put_crowd(0x100000);
	take_crowd(0x100000, 3);
	begin_reclaim(0);
	put(0x100000 + 904, 8); // the next 32 bytes are nobody's
	assert_int_equal(reclaim_end(&reclaim, &table), 0);
	take(0x100000 + 904, 8);

	begin_reclaim(0);
	assert_false(block_table_take(&table, &near, 0x100000 + 904, &block));
	assert_int_equal(reclaim_end(&reclaim, &table), 0);

	begin_reclaim(0);
	assert_false(block_table_change_owner(&table, 0x100000 + 904, 1, 2));
	assert_int_equal(reclaim_end(&reclaim, &table), 0);

	put(0x50000000, 5000);
	take(0x50000000, 5000);
	begin_reclaim(1);
	memset(&near, 0, sizeof(near));
	block = block_of(0x50000000, 5000);
	assert_true(block_table_put(&table, &near, 0x50000000, &block, &stale));
	assert_int_equal(reclaim_end(&reclaim, &table), 0);
	take(0x50000000, 5000);
	for (uint64_t i = 0; i < 3; i++)
		take(0x100000 + i * 48, 40);
}

/* Whoever knew a place before its group began to leave uses it after. */
static void test_reclaim_late(void **state)
{
	const uint64_t address = 0x100000 + 5 * 48;
	struct known_block block = block_of(address, 40), stale;
	uint64_t *entry;

	(void)state;
	put_crowd(0x100000);
	take_crowd(0x100000, 0);
	entry = small_blocks_new_entry(&table, live_group_name(1, LIVE_FULL_LOG), address);
	begin_reclaim(0);
	*entry = block_entry(address, &block);
	assert_int_equal(reclaim_end(&reclaim, &table), 0);
	take(address, 40);

	// By the thread's own memory, which does not ask the head.
	put(0x50000000, 5000);
	put(0x50000000 + 4096, 5000);
	take(0x50000000, 5000);
	take(0x50000000 + 4096, 5000);
	block = block_of(0x50000000, 5000);
	begin_reclaim(1);
	assert_true(block_table_put(&table, &near, 0x50000000, &block, &stale));
	assert_int_equal(reclaim_end(&reclaim, &table), 0);
	put(0x50000000 + 4096, 5000);
	take(0x50000000, 5000);
	take(0x50000000 + 4096, 5000);
}

/* A cell that the thread knew is another region's. */
static void test_reclaim_moves_cells(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		put(0x50000000 + i * 0x2000, 5000);
		take(0x50000000 + i * 0x2000, 5000);
	}
	assert_int_equal(reclaim_all(), 8);
	for (uint64_t i = 0; i < 8; i++)
		put(0x60000000 + i * 0x2000, 5000);
	for (uint64_t i = 0; i < 4; i++)
		take(0x60000000 + i * 0x2000, 5000);
	for (uint64_t i = 0; i < 8; i++)
		put(0x50000000 + i * 0x2000, 5000);
	memset(&near, 0, sizeof(near));
	for (uint64_t i = 0; i < 8; i++)
		take(0x50000000 + i * 0x2000, 5000);
	for (uint64_t i = 4; i < 8; i++)
		take(0x60000000 + i * 0x2000, 5000);
	assert_int_equal(table.cells.last, 16);
}

/* A baseline comes upon what a late writer put. */
static void test_reclaim_and_empty(void **state)
{
	const uint64_t address = 0x100000 + 5 * 48;
	struct known_block block = block_of(address, 40);
	uint64_t *entry;

	(void)state;
	put_crowd(0x100000);
	take_crowd(0x100000, 0);
	entry = small_blocks_new_entry(&table, live_group_name(1, LIVE_FULL_LOG), address);
	begin_reclaim(0);
	*entry = block_entry(address, &block);
	block_table_empty(&table);
	assert_false(block_table_take(&table, &near, address, &block));
	assert_int_equal(reclaim_end(&reclaim, &table), 0);
}

#define THREADS 4
#define ROUNDS  OFTEN(200000)
#define SEATS   4096

static uint32_t seats[SEATS]; /* as an allocator hands out memory: 1 while it is a thread's */
static bool kept[SEATS];      /* its block is in the table: of who has the seat */
static uint64_t apart;

/* Who is in the table; the reclaimer's lock, what it has freed, and who was outside since. */
static uint32_t inside[THREADS];
static uint32_t lock, freed, seen_outside;

/* A handover of seats of which the blocks are taken out, and put in, by turns: regions get empty.
 */
static uint32_t turns;
#define TURN_LOG 15

static uint64_t address_of(uint32_t place)
{
	return 0x7000000000 + place * apart;
}

static uint64_t size_of(uint32_t place, bool large)
{
	return place % 32 + (large ? 1024 : 0);
}

/* What live_reclaim.c does: nobody waits for anybody. */
static void reclaim_a_little(uint32_t self)
{
	if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		return;
	if (!reclaim.leaf && reclaim_begin(&reclaim, &table) == RECLAIM_FOUND_SOME)
		seen_outside = 0;
	if (reclaim.leaf) {
		while (seen_outside < THREADS &&
		       (seen_outside == self ||
			!__atomic_load_n(&inside[seen_outside], __ATOMIC_SEQ_CST)))
			seen_outside++;
		if (seen_outside == THREADS)
			freed += reclaim_end(&reclaim, &table);
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static const char *change_seat(struct block_near *own, uint32_t place, bool large, bool keep)
{
	struct known_block block = {place + 1, 1, size_of(place, large)}, found;

	if (block_table_take(&table, own, address_of(place), &found) != kept[place])
		return "a block that is not there, or should not";
	if (kept[place] && (found.owner != place + 1 || found.size % 1024 != place % 32))
		return "another's block";
	kept[place] = keep;
	found.owner = 0;
	if (keep &&
	    (!block_table_put(&table, own, address_of(place), &block, &found) || found.owner))
		return "a block in its place";
	return NULL;
}

static void *hand_out(void *argument)
{
	struct block_near own = {0};
	uint32_t self = (uint32_t)(uintptr_t)argument, random = self + 1;
	const char *wrong = NULL;

	for (int i = 0; !wrong && i < ROUNDS; i++) {
		uint32_t place, none = 0;
		bool fill = __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED) >> TURN_LOG & 1;

		random = random * 1103515245u + 12345u;
		place = random >> 16 & (SEATS - 1);
		if (!__atomic_compare_exchange_n(&seats[place], &none, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_exchange_n(&inside[self], 1, __ATOMIC_SEQ_CST);
		wrong = change_seat(&own, place, random >> 11 & 1, fill && random >> 10 & 1);
		__atomic_store_n(&inside[self], 0, __ATOMIC_RELEASE);
		__atomic_store_n(&seats[place], 0, __ATOMIC_RELEASE);
		reclaim_a_little(self);
		if (i % 256 == 0)
			sched_yield(); // rather than in the table
	}
	return (void *)wrong;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	memset(kept, 0, sizeof(kept));
	freed = 0;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hand_out, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_ptr_equal(wrong, NULL);
	}
}

/* Each block is there, and when all are out, each group is free. */
static void take_all(void)
{
	struct live_full *full;
	uint32_t number, count = 0;

	for (uint32_t i = 0; i < SEATS; i++)
		assert_null(change_seat(&near, i, false, false));
	if (reclaim.leaf)
		reclaim_end(&reclaim, &table);
	reclaim_all();
	while (count < table.fulls.last && (full = full_groups_take(&table.fulls, &number))) {
		for (uint32_t i = 0; i < LIVE_FULL_ENTRIES; i++)
			assert_int_equal(full->entries[i], 0);
		count++;
	}
	assert_int_equal(table.fulls.free.top & UINT32_MAX, 0);
}

/*
 * Blocks of all sizes, each in 32 bytes of its own, two and four that share them, and few in a
 * region, whose groups are taken back all the time.
 */
static void test_threads(void **state)
{
	static const uint64_t distances[] = {48, 16, 8, 4096, 16384};

	for (size_t d = 0; d < sizeof(distances) / sizeof(*distances); d++) {
		setup(state);
		apart = distances[d];
		run_threads();
		assert_true(apart > 1024 || table.fulls.last > 0);
		assert_in_range(freed, 1000, UINT32_MAX);
		take_all();
	}
}

/* A thread that is stopped at any instruction of its use of the table, and goes on when told. */
static struct {
	pthread_t thread;
	uint64_t size; /* of its block */
	uint32_t inside;
	uint32_t stopped;
	uint32_t ends;
	bool was_outside; /* since groups are leaving */
} user;

#define USER_BLOCK UINT64_C(0x7000000400)

static void stop(int signal)
{
	(void)signal;
	__atomic_store_n(&user.stopped, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&user.stopped, __ATOMIC_SEQ_CST))
		;
}

static bool use(struct block_near *own, uint64_t address, const struct known_block *block)
{
	struct known_block found = {0};
	bool right;

	__atomic_exchange_n(&user.inside, 1, __ATOMIC_SEQ_CST);
	right = block ? block_table_put(&table, own, address, block, &found) && !found.owner
		      : block_table_take(&table, own, address, &found) && found.owner == 7 &&
				found.size == user.size;
	__atomic_store_n(&user.inside, 0, __ATOMIC_RELEASE);
	return right;
}

/* It puts by what it met before, and takes without. */
static void *be_stopped(void *argument)
{
	struct known_block block = {7, 1, user.size};
	struct block_near putting = {0}, taking;
	char *wrong = NULL;

	(void)argument;
	while (!__atomic_load_n(&user.ends, __ATOMIC_RELAXED)) {
		memset(&taking, 0, sizeof(taking));
		if (!use(&putting, USER_BLOCK, &block))
			wrong = "another's block is there";
		if (!use(&taking, USER_BLOCK, NULL))
			wrong = "its block is not there";
	}
	return wrong;
}

static void stop_user(void)
{
	pthread_kill(user.thread, SIGUSR1);
	while (!__atomic_load_n(&user.stopped, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void let_user_go_on(void)
{
	__atomic_store_n(&user.stopped, 0, __ATOMIC_SEQ_CST);
}

/* What is empty begins to leave, unless something is leaving; the user is stopped. */
static void begin_while_stopped(void)
{
	if (!reclaim.leaf) {
		user.was_outside = false;
		reclaim_begin(&reclaim, &table);
	}
	if (!__atomic_load_n(&user.inside, __ATOMIC_SEQ_CST))
		user.was_outside = true;
}

/* While the user is stopped, what is empty moves to other regions: at once, or at its next stop. */
static void move_groups(uint64_t round)
{
	uint64_t region = 0x100000 + round % 64 * 0x400, large = 0x50000000 + round % 64 * 0x2000;

	stop_user();
	begin_while_stopped();
	if (round % 2) {
		let_user_go_on();
		for (volatile uint64_t i = 0; i < round % 512; i++)
			;
		stop_user();
	}
	if (reclaim.leaf && user.was_outside)
		freed += reclaim_end(&reclaim, &table);
	put_crowd(region);
	put(large, 5000);
	if (round % 4 < 2)
		take(large, 5000);
	let_user_go_on();
	sched_yield();
	take_crowd(region, 0);
	if (round % 4 >= 2)
		take(large, 5000);
}

static void test_reclaim_while_stopped(void **state)
{
	static const uint64_t sizes_used[] = {40, 5000};

	signal(SIGUSR1, stop);
	for (size_t i = 0; i < 2; i++) {
		void *wrong;

		setup(state);
		user.size = sizes_used[i];
		user.ends = freed = 0;
		// So its region has a full group with its first block.
		put_crowd(USER_BLOCK - 0x400);
		assert_int_equal(pthread_create(&user.thread, NULL, be_stopped, NULL), 0);
		for (uint64_t round = 0; round < 20000; round++)
			move_groups(round);
		__atomic_store_n(&user.ends, 1, __ATOMIC_RELAXED);
		assert_int_equal(pthread_join(user.thread, &wrong), 0);
		assert_ptr_equal(wrong, NULL);
		assert_in_range(freed, 1000, UINT32_MAX);
	}
}

/* Between a look at the top and taking it, it was taken and came back. */
static void test_number_stack(void **state)
{
	struct number_stack stack = {0};
	uint64_t words[4], top, other;

	(void)state;
	for (uint32_t i = 1; i < 4; i++)
		number_stack_push(&stack, i, &words[i]);
	assert_int_equal(number_stack_top(&stack, &top), 3);
	assert_int_equal(number_stack_top(&stack, &other), 3);
	assert_true(number_stack_pop(&stack, other, &words[3]));
	assert_int_equal(number_stack_top(&stack, &other), 2);
	assert_true(number_stack_pop(&stack, other, &words[2]));
	number_stack_push(&stack, 3, &words[3]);
	assert_false(number_stack_pop(&stack, top, &words[3]));
	assert_int_equal(number_stack_top(&stack, &other), 3);
	assert_true(number_stack_pop(&stack, other, &words[3]));
	assert_int_equal(number_stack_top(&stack, &other), 1);
	assert_true(number_stack_pop(&stack, other, &words[1]));
	assert_int_equal(number_stack_top(&stack, &other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sizes_and_edges, setup),
		cmocka_unit_test_setup(test_dense, setup),
		cmocka_unit_test_setup(test_full_groups, setup),
		cmocka_unit_test_setup(test_behind_full_groups, setup),
		cmocka_unit_test_setup(test_wide_groups, setup),
		cmocka_unit_test_setup(test_own_entries, setup),
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
		cmocka_unit_test_setup(test_reclaim, setup),
		cmocka_unit_test_setup(test_reclaim_in_front_of_chains, setup),
		cmocka_unit_test_setup(test_reclaim_stays, setup),
		cmocka_unit_test_setup(test_reclaim_late, setup),
		cmocka_unit_test_setup(test_reclaim_moves_cells, setup),
		cmocka_unit_test_setup(test_reclaim_and_empty, setup),
		cmocka_unit_test_setup(test_reclaim_while_stopped, setup),
		cmocka_unit_test_setup(test_number_stack, setup),
		cmocka_unit_test_setup(test_threads, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
