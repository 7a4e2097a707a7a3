/* The span map against a search of all ranges, on random sets of nested and overlapping ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbols/span_map.h"

#define SPACE 200 /* addresses are below this, so that ranges share borders often */

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % limit;
}

/* What the header promises: begins last, then shorter, then given later. */
static uint32_t expected(const struct span_range *given, size_t count, uint64_t address)
{
	const struct span_range *best = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct span_range *range = &given[i];

		if (address < range->low || address >= range->high)
			continue;
		if (!best || range->low > best->low ||
		    (range->low == best->low && range->high <= best->high))
			best = range;
	}
	return best ? best->value : SPAN_NONE;
}

static void check_set(uint64_t *state, uint32_t count)
{
	struct span_range given[40];
	struct span_ranges ranges = {0};
	struct span_map map;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t low = random_below(state, SPACE), high = random_below(state, SPACE);

		given[i] = (struct span_range){.low = low, .high = high, .value = i};
		assert_null(span_ranges_add(&ranges, low, high, i));
	}
	assert_null(span_map_init(&map, &ranges));
	for (size_t i = 1; i < map.count; i++) {
		assert_true(map.spans[i - 1].low < map.spans[i].low);
		assert_int_not_equal(map.spans[i - 1].value, map.spans[i].value);
	}
	for (uint64_t address = 0; address <= SPACE; address++)
		assert_int_equal(span_map_find(&map, address), expected(given, count, address));
	span_map_deinit(&map);
	span_ranges_deinit(&ranges);
}

static void random_sets(void **unused)
{
	uint64_t state = 42;

	for (int round = 0; round < 5000; round++)
		check_set(&state, random_below(&state, 40));
}

static void ends_of_the_address_space(void **unused)
{
	struct span_ranges ranges = {0};
	struct span_map map;

	assert_null(span_ranges_add(&ranges, 0, 1, 1));
	assert_null(span_ranges_add(&ranges, UINT64_MAX - 1, UINT64_MAX, 2));
	assert_null(span_ranges_add(&ranges, 5, 5, 3));
	assert_null(span_map_init(&map, &ranges));
	assert_int_equal(span_map_find(&map, 0), 1);
	assert_int_equal(span_map_find(&map, 1), SPAN_NONE);
	assert_int_equal(span_map_find(&map, 5), SPAN_NONE);
	assert_int_equal(span_map_find(&map, UINT64_MAX - 1), 2);
	assert_int_equal(span_map_find(&map, UINT64_MAX), SPAN_NONE);
	span_map_deinit(&map);
	span_ranges_deinit(&ranges);
}

static void empty(void **unused)
{
	struct span_ranges ranges = {0};
	struct span_map map;

	assert_null(span_map_init(&map, &ranges));
	assert_int_equal(span_map_find(&map, 7), SPAN_NONE);
	span_map_deinit(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sets),
		cmocka_unit_test(ends_of_the_address_space),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
