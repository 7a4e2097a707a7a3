/* Sorting blocks, and what the blocks of a site come to, against the slow and obvious way. */
#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_order.h"
#include "base/random.h"
#include "check.h"

#define MANY    300000
#define THREADS 200

static const uint64_t *sorted_keys;

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (sorted_keys[a] != sorted_keys[b])
		return sorted_keys[a] < sorted_keys[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void check_order(const uint64_t *keys, uint32_t count)
{
	uint32_t *expected = malloc(count * sizeof(*expected) + 1);
	struct spill rows;

	for (uint32_t i = 0; i < count; i++)
		expected[i] = i;
	sorted_keys = keys;
	if (count)
		qsort(expected, count, sizeof(*expected), compare);
	assert_ok(block_order_make(keys, count, &rows));
	if (count)
		assert_memory_equal(rows.data, expected, count * sizeof(*expected));
	spill_deinit(&rows);
	free(expected);
}

static void orders(void **state)
{
	static const uint64_t masks[] = {
		0, 1, 0xff, 0xfff000, 0x7fffffffffff, 0xffff0000ffff0000, UINT64_MAX,
	};
	static const uint32_t counts[] = {0, 1, 2, 3, 17, 1000, MANY};
	uint64_t *keys = malloc(MANY * sizeof(*keys)), random = 1;

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		for (uint32_t j = 0; j < MANY; j++)
			keys[j] = random_next(&random) & masks[i];
		for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
			check_order(keys, counts[j]);
	}
	free(keys);
}

static void too_many(void **state)
{
	struct spill rows;

	assert_err(block_order_make(NULL, RECORDING_NONE, &rows), "4294967294");
}

/* More threads than a word has bits; lives that together are longer than 64 bits can say. */
static void spans(void **state)
{
	uint64_t allocated[2 * THREADS + 2] = {0}, freed[2 * THREADS + 2], size[2 * THREADS + 2];
	uint32_t site[2 * THREADS + 2] = {0}, thread[2 * THREADS + 2];
	struct block_columns blocks = {
		.count = 2 * THREADS + 2,
		.allocated_ns = allocated,
		.freed_ns = freed,
		.size = size,
		.site = site,
		.thread = thread,
	};
	struct site_span ret[3];

	for (uint32_t i = 0; i < 2 * THREADS; i++) {
		thread[i] = i % THREADS;
		size[i] = 1000 - i;
		freed[i] = UINT64_MAX - 1;
	}
	for (uint32_t i = 2 * THREADS; i < blocks.count; i++) {
		site[i] = 2;
		thread[i] = 70;
		size[i] = 5;
		allocated[i] = i;
		freed[i] = TIME_NEVER;
	}
	assert_ok(block_order_spans(&blocks, 3, ret));
	assert_int_equal(ret[0].blocks, 2 * THREADS);
	assert_int_equal(ret[0].threads, THREADS);
	assert_int_equal(ret[0].smallest, 1001 - 2 * THREADS);
	assert_int_equal(ret[0].largest, 1000);
	assert_true(ret[0].lives_ns == UINT64_MAX);
	assert_true(ret[0].longest_life_ns == UINT64_MAX - 1);
	assert_int_equal(ret[1].blocks, 0);
	assert_int_equal(ret[1].smallest, 0);
	assert_int_equal(ret[2].blocks, 2);
	assert_int_equal(ret[2].threads, 1);
	assert_int_equal(ret[2].freed, 0);
	assert_int_equal(ret[2].first_ns, 2 * THREADS);
	assert_int_equal(ret[2].last_ns, 2 * THREADS + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders),
		cmocka_unit_test(too_many),
		cmocka_unit_test(spans),
	};

	// Large ones lie in files: not in the folder of who runs the test.
	setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
