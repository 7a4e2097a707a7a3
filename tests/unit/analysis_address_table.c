/* The table of live blocks against a plain array: growth, blocks used again, addresses of all
 * kinds. */
#include <stdlib.h>

#include "analysis/load/address_table.h"
#include "check.h"

#define ADDRESSES 400000 /* more than a sparse table takes, and several batches of blocks */
#define ALIKE     4      /* addresses of one tag */

/* What address_table_tag() multiplies by, and what undoes it: Newton's iteration. */
static uint64_t inverse(void)
{
	uint64_t factor = 0x9e3779b97f4a7c15ull, inverse = factor;

	for (int i = 0; i < 5; i++)
		inverse *= 2 - factor * inverse;
	return inverse;
}

/* As a program's, or a few of one tag: those are made backwards from their hash. */
static uint64_t address_of(uint32_t i)
{
	uint32_t tag = i / ALIKE * 0x9e3779b1u;
	uint64_t mixed = ((uint64_t)tag << 32 | i) * inverse();

	return i % 8 < ALIKE ? mixed ^ mixed >> 32 : 0x7f0000000010 + 32 * (uint64_t)i;
}

static uint64_t addresses[ADDRESSES];
static uint64_t numbers[ADDRESSES]; /* what the table should know; 0: nothing */

static void put(struct address_table *table, uint32_t i, uint64_t number)
{
	struct live_block *block = address_table_put(table, addresses[i]);

	assert_non_null(block);
	assert_int_equal(block->address, addresses[i]);
	assert_int_equal(block->number, numbers[i]);
	block->number = numbers[i] = number;
	block->size = number * 3;
}

static void take(struct address_table *table, uint32_t i)
{
	const struct live_block *block = address_table_take(table, addresses[i]);

	assert_int_equal(block != NULL, numbers[i] != 0);
	if (block) {
		assert_int_equal(block->number, numbers[i]);
		assert_int_equal(block->size, numbers[i] * 3);
	}
	numbers[i] = 0;
}

static void like_an_array(void **state)
{
	struct address_table table = {0};
	unsigned int seed = 7;
	uint32_t used;

	for (uint32_t i = 0; i < ADDRESSES; i++)
		addresses[i] = address_of(i);
	assert_int_equal(address_table_tag(addresses[0]), address_table_tag(addresses[ALIKE - 1]));
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		put(&table, i, i + 1);
		if (rand_r(&seed) % 4 == 0)
			take(&table, (uint32_t)rand_r(&seed) % (i + 1));
	}
	used = table.used;
	for (uint32_t step = 1; step < 2 * ADDRESSES; step++) {
		uint32_t i = (uint32_t)rand_r(&seed) % ADDRESSES;

		if (rand_r(&seed) % 2)
			put(&table, i, step);
		else
			take(&table, i);
	}
	// Never many more were live than at first: blocks were used again.
	assert_in_range(table.used, used, used + ADDRESSES / 100);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		take(&table, i);
	assert_int_equal(table.count, 0);
	address_table_deinit(&table);
}

/* Regions are given places until there are enough; further addresses are in slots. */
static void many_regions(void **state)
{
	struct address_table table = {0};
	size_t places;

	for (uint32_t i = 0; i < 2000; i++) {
		addresses[i] = 0x10000 + ((uint64_t)i << ADDRESS_REGION_BITS);
		put(&table, i, i + 1);
	}
	places = table.places.count;
	assert_in_range(places, 100, 1999);
	assert_int_equal(table.count, 2000 - places);
	for (uint32_t i = 2000; i < 6000; i++) {
		// In regions of both kinds: other multiples of 16, and addresses that are none.
		addresses[i] = addresses[i % 2000] + (i < 4000 ? 16 : 8);
		put(&table, i, i + 1);
	}
	assert_int_equal(table.places.count, places);
	for (uint32_t i = 0; i < 6000; i++) {
		put(&table, i, i + 7);
		take(&table, i);
		take(&table, i);
	}
	assert_int_equal(table.count, 0);
	address_table_deinit(&table);
}

static void cover(struct address_table *table, uint64_t address, uint64_t size)
{
	struct live_block *block = address_table_put(table, address);

	block->number = 1;
	block->size = size;
}

static bool may(const struct address_table *table, uint64_t address)
{
	return address_table_may_cover(table, address, 2 << ADDRESS_REGION_BITS);
}

/* Which addresses lie in a block; not sure is where the block below is far, or in no order. */
static void may_cover(void **state)
{
	const uint64_t base = UINT64_C(0x7f00) << ADDRESS_REGION_BITS,
		       region = 1 << ADDRESS_REGION_BITS;
	struct address_table table = {0};
	uint32_t next = 0;

	assert_false(may(&table, 8));
	cover(&table, base + 64, 100);
	cover(&table, base + 3 * region - 32, 2 * region);
	assert_false(may(&table, base + 63));
	assert_false(may(&table, base + 64));
	assert_true(may(&table, base + 65));
	assert_true(may(&table, base + 163));
	assert_false(may(&table, base + 164));
	assert_false(may(&table, base + 2 * region));
	assert_true(may(&table, base + 5 * region - 33));
	assert_false(may(&table, base + 5 * region - 32));
	assert_false(may(&table, base + 99 * region));
	assert_true(address_table_may_cover(&table, base + 99 * region, 100 * region));
	assert_true(may(&table, UINT64_MAX));
	address_table_take(&table, base + 64);
	assert_int_equal(address_table_next(&table, &next)->size, 2 * region);
	assert_null(address_table_next(&table, &next));
	cover(&table, base + 1, 1);
	assert_true(may(&table, base + 64));
	address_table_deinit(&table);
}

static void empty(void **state)
{
	struct address_table table = {0};

	assert_null(address_table_take(&table, 16));
	address_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_an_array),
		cmocka_unit_test(many_regions),
		cmocka_unit_test(may_cover),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
