/* Where the sum of sampled blocks lies: against numbers of textbooks, and at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/sites/sample_interval.h"

static struct sample_spread spread_of(uint64_t mean, uint64_t size, uint64_t amount, int samples)
{
	struct sample_spread spread = {0};

	for (int i = 0; i < samples; i++)
		sample_spread_add(&spread, mean, size, amount);
	return spread;
}

/* Where each sample stands for very many their number is Poisson's. */
static void test_rare(void **state)
{
	const uint64_t mean = 1u << 30; // that each stands for
	static const struct {
		int samples;
		uint64_t low, high; /* thousandths of the mean */
	} known[] = {
		{1, 0, 5665},
		{4, 80, 10286},
		{10, 3802, 18409},
		{100, 80400, 121614},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct sample_spread spread = spread_of(mean, 1, 1, known[i].samples);
		struct sample_interval interval =
			sample_interval(&spread, mean * (uint64_t)known[i].samples);

		assert_in_range(interval.low * 1000 / mean, known[i].low, known[i].low + 1);
		assert_in_range(interval.high * 1000 / mean, known[i].high - 1, known[i].high + 1);
	}
}

/* One in two is sampled, as 693 is 1000 ln 2: 200 of such have a variance of 200. */
static void test_half(void **state)
{
	struct sample_spread blocks = spread_of(1000, 693, 1, 100);
	struct sample_spread bytes = spread_of(1000, 693, 693, 100);
	struct sample_interval interval = sample_interval(&blocks, 200);

	(void)state;
	assert_int_equal(interval.low, 173);
	assert_int_equal(interval.high, 229);
	interval = sample_interval(&bytes, 200 * 693);
	assert_int_equal(interval.low / 693, 172);
	assert_int_equal(interval.high / 693, 229);
}

/* What is in every sample leaves no doubt, and adds none to others. */
static void test_certain(void **state)
{
	struct sample_spread spread = spread_of(1000, 1 << 20, 1 << 20, 3);
	struct sample_interval interval = sample_interval(&spread, 3 << 20), with_small;

	(void)state;
	assert_int_equal(interval.low, 3 << 20);
	assert_int_equal(interval.high, 3 << 20);
	for (int i = 0; i < 100; i++)
		sample_spread_add(&spread, 1000, 693, 693);
	with_small = sample_interval(&spread, (3 << 20) + 200 * 693);
	spread = spread_of(1000, 693, 693, 100);
	interval = sample_interval(&spread, 200 * 693);
	assert_int_equal(with_small.low, (3 << 20) + interval.low);
	assert_int_equal(with_small.high, (3 << 20) + interval.high);
}

/* What was sampled is there, however little is known of the rest. */
static void test_not_below_the_samples(void **state)
{
	struct sample_spread spread = spread_of(UINT64_C(1) << 30, 5000, 5000, 2);

	(void)state;
	assert_int_equal(sample_interval(&spread, UINT64_C(2) << 30).low, 10000);
}

/* Of blocks that were read before they were freed, or not at all. */
static void test_of_another_moment(void **state)
{
	struct sample_spread spread = spread_of(1000, 5000, 5000, 2), none = {0};
	struct sample_interval interval = sample_interval(&spread, 70);

	(void)state;
	assert_int_equal(interval.low, 70);
	assert_in_range(interval.high, 70, 10000);
	interval = sample_interval(&none, 70);
	assert_int_equal(interval.low, 70);
	assert_int_equal(interval.high, 70);
	assert_int_equal(sample_interval(&none, UINT64_MAX).high, UINT64_MAX);
}

/* What no agent writes. */
static void test_damaged(void **state)
{
	static const uint64_t numbers[] = {0, 1, 1000, UINT64_C(1) << 40, UINT64_MAX};

	(void)state;
	for (int i = 0; i < 5 * 5 * 5; i++) {
		uint64_t mean = numbers[i / 25] + !numbers[i / 25], estimate = numbers[i % 5];
		struct sample_spread spread =
			spread_of(mean, numbers[i / 5 % 5], numbers[i / 5 % 5], 1000);
		struct sample_interval interval = sample_interval(&spread, estimate);

		assert_true(interval.low <= estimate && estimate <= interval.high);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rare),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_certain),
		cmocka_unit_test(test_not_below_the_samples),
		cmocka_unit_test(test_of_another_moment),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
