/* Sorting blocks, and what the blocks of a site come to, against the slow and obvious way. */
#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_order.h"
#include "analysis/blocks/block_top.h"
#include "analysis/blocks/site_sums.h"
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

/* Of each so many rows one matches; NULL: all. */
static uint64_t *some_bits(uint32_t count, uint32_t each)
{
	uint64_t *bits = calloc(count / 64 + 1, sizeof(*bits)), random = 3;

	for (uint32_t i = 0; i < count; i++)
		if (random_next(&random) % each == 0)
			bits[i / 64] |= 1ull << i % 64;
	return bits;
}

/* order: all rows in ascending order. */
static void check_top(const struct block_sort_keys *entries, const uint32_t *order, uint64_t first,
		      uint64_t wanted)
{
	uint64_t count = entries->blocks, rank = 0;
	struct block_top top;

	assert_ok(block_top_create(entries, first, wanted, &top));
	assert_int_equal(top.first, first);
	for (uint64_t i = 0; i < count && rank < first + wanted; i++) {
		uint32_t row = order[entries->descending ? count - 1 - i : i];

		if (!block_bits_has(entries->bits, row))
			continue;
		if (rank >= first) {
			assert_true(rank - first < top.count);
			assert_int_equal(top.rows[rank - first], row);
		}
		rank++;
	}
	assert_int_equal(top.count, rank - first);
	block_top_deinit(&top);
}

static void check_tops(const uint64_t *keys, uint64_t count, const uint64_t *const bits[3])
{
	struct spill order;

	assert_ok(block_order_make(keys, count, &order));
	for (size_t i = 0; i < 6; i++) {
		struct block_sort_keys entries = {bits[i / 2], keys, count, i % 2};
		uint64_t matching = 0;

		BLOCK_BITS_EACH(bits[i / 2], count, row)
		matching++;
		for (uint64_t wanted = 1; wanted <= 4096; wanted *= 64)
			check_top(&entries, order.data, 0, wanted);
		if (!matching)
			continue;
		check_top(&entries, order.data, matching / 2, 100);
		check_top(&entries, order.data, matching * 9 / 10, 1000);
		check_top(&entries, order.data, matching - 1, 7);
	}
	spill_deinit(&order);
}

static void tops(void **state)
{
	static const uint64_t masks[] = {0, 0xff, 0xffff0000ffff0000, UINT64_MAX};
	static const uint32_t counts[] = {0, 1, 100, 2 * MANY};
	uint64_t *keys = malloc(2 * MANY * sizeof(*keys)), random = 1;
	uint64_t *few = some_bits(2 * MANY, 500), *half = some_bits(2 * MANY, 2);
	const uint64_t *bits[] = {NULL, few, half};

	for (size_t i = 0; i < 16; i++) {
		for (uint32_t j = 0; j < counts[i % 4]; j++)
			keys[j] = i / 4 == 3 ? j : random_next(&random) & masks[i / 4];
		check_tops(keys, counts[i % 4], bits);
	}
	free(few);
	free(half);
	free(keys);
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
	assert_ok(site_sums_spans(&blocks, 3, ret));
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

/* So many blocks that several threads sum them up: as one would. */
static void spans_of_pieces(void **state)
{
	uint32_t count = 3 * MANY, half = count / 2;
	uint64_t *allocated = calloc(count, sizeof(*allocated)), random = 1;
	uint64_t *freed = calloc(count, sizeof(*freed)), *size = calloc(count, sizeof(*size));
	uint32_t *site = calloc(count, sizeof(*site)), *thread = calloc(count, sizeof(*thread));
	struct block_columns blocks = {
		.count = count,
		.allocated_ns = allocated,
		.freed_ns = freed,
		.size = size,
		.site = site,
		.thread = thread,
	};
	struct site_span ret[4];

	for (uint32_t i = 0; i < count; i++) {
		allocated[i] = i;
		site[i] = i < half ? i % 2 : 1 + i % 2; // 0 ends before 2 begins
		size[i] = 100 + random_next(&random) % 1000;
		freed[i] = i % 3 ? i + 7 : TIME_NEVER;
		thread[i] = i < half ? i % 80 : 61 + i % 80;
	}
	size[1] = 1;
	size[count - 1] = 5000;
	assert_ok(site_sums_spans(&blocks, 4, ret));
	assert_int_equal(ret[0].blocks, half / 2);
	assert_int_equal(ret[0].last_ns, half - 2);
	assert_int_equal(ret[0].threads, 40);
	assert_int_equal(ret[1].blocks, half);
	assert_int_equal(ret[1].first_ns, 1);
	assert_int_equal(ret[1].last_ns, count - 2);
	assert_int_equal(ret[1].smallest, 1);
	assert_int_equal(ret[1].threads, 70);
	assert_int_equal(ret[1].freed, count / 3);
	assert_int_equal(ret[1].lives_ns, 7 * (count / 3));
	assert_int_equal(ret[1].longest_life_ns, 7);
	assert_int_equal(ret[2].first_ns, half + 1);
	assert_int_equal(ret[2].largest, 5000);
	assert_int_equal(ret[2].threads, 40);
	assert_int_equal(ret[3].blocks, 0);
	free(allocated);
	free(freed);
	free(size);
	free(site);
	free(thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders),
		cmocka_unit_test(tops),
		cmocka_unit_test(spans),
		cmocka_unit_test(spans_of_pieces),
	};

	// Large ones lie in files: not in the folder of who runs the test.
	setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
