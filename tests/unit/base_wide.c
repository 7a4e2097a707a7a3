/* base/wide.h as machines without numbers of 128 bits have it, beside the compiler's. */
#define WIDE_BY_HAND
#include "base/wide.h"

#include "check.h"

static uint64_t state = 1;

/* Of all lengths, often near a power of two. */
static uint64_t next_number(void)
{
	uint64_t bits, small;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	bits = state ^ state >> 29;
	small = bits >> 8 & 3;
	return bits & 1 ? bits >> (bits >> 58) : (UINT64_C(1) << (bits >> 58)) - small;
}

static unsigned __int128 of(struct wide number)
{
	return (unsigned __int128)number.high << 64 | number.low;
}

static void test_products(void **unused)
{
	for (int i = 0; i < 1000000; i++) {
		uint64_t a = next_number(), b = next_number(), c = next_number();
		struct wide product = wide_product(a, b), other = wide_product(c, a);
		unsigned __int128 wanted = (unsigned __int128)a * b;

		assert_true(of(product) == wanted);
		assert_true(of(wide_times(product, c)) == wanted * c);
		assert_true(of(wide_sum(product, other)) == wanted + (unsigned __int128)c * a);
		assert_true(wide_less(product, other) == (wanted < (unsigned __int128)c * a));
	}
}

static void test_scale(void **unused)
{
	for (int i = 0; i < 1000000; i++) {
		uint64_t a = next_number(), b = next_number(), c = next_number() | 1, found = 0;
		unsigned __int128 wanted = (unsigned __int128)a * b / c;

		assert_true(wide_scale(a, b, c, &found) == (wanted >> 64 == 0));
		assert_true(wanted >> 64 || found == (uint64_t)wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
