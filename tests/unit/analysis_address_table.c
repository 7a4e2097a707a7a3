/* The table of live blocks against a plain array: growth, blocks used again, addresses alike. */
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
		address_table_expect(&table, addresses[i]);
		address_table_expect_take(&table, addresses[i]);
	}
	// Never many more were live than at first: blocks were used again.
	assert_in_range(table.used, used, used + ADDRESSES / 100);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		take(&table, i);
	assert_int_equal(table.count, 0);
	address_table_deinit(&table);
}

static void empty(void **state)
{
	struct address_table table = {0};

	address_table_expect(&table, 16);
	address_table_expect_take(&table, 16);
	assert_null(address_table_take(&table, 16));
	address_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_an_array),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
