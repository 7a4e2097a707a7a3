/* What a sampled block stands for: on average as many blocks as were passed over for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "analysis/sites/sample_weight.h"

#define MEAN 65536

/* The mean over many blocks is 1 / p; each is the whole number below it or above. */
static void test_unbiased(void **state)
{
	static const uint64_t sizes[] = {0, 1, 24, 1000, 40000, 65536, 100000, 300000, 1 << 24};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		double bytes = sizes[i] ? (double)sizes[i] : 1;
		double expected = 1 / -expm1(-bytes / MEAN), sum = 0;

		for (uint64_t number = 1; number <= 100000; number++) {
			uint64_t weight = sample_weight(MEAN, sizes[i], number);

			assert_true(fabs((double)weight - expected) < 1);
			assert_int_equal(weight, sample_weight(MEAN, sizes[i], number));
			sum += (double)weight;
		}
		// The chance of a number decides a part of one; five standard deviations.
		assert_true(fabs(sum / 100000 - expected) < 5 * 0.5 / sqrt(100000));
	}
}

/* What no agent writes must not overflow. */
static void test_damaged(void **state)
{
	(void)state;
	assert_in_range(sample_weight(UINT64_MAX, 0, 1), 1, UINT64_C(1) << 32);
	assert_in_range(sample_weight(UINT64_MAX, 1, UINT64_MAX), 1, UINT64_C(1) << 32);
	assert_int_equal(sample_weight(1, UINT64_MAX, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unbiased),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
