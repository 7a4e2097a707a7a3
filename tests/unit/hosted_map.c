/* The map against a plain array, under insertions, removals and growth. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hosted/map.h"

#define KEYS 5000

/* Keys that collide in their low and in their high bits. */
static uint64_t key_of(uint32_t i)
{
	return i % 2 ? (uint64_t)i << 40 : 0x7f0000000010 + 16 * (uint64_t)i;
}

static void like_an_array(void **state)
{
	static uint64_t values[KEYS];
	struct map map = {0};
	unsigned int seed = 7;
	size_t count = 0;

	memset(values, 0xff, sizeof(values));
	for (int step = 0; step < 200000; step++) {
		uint32_t i = (uint32_t)rand_r(&seed) % KEYS;
		uint64_t key = key_of(i);

		assert_int_equal(map_get(&map, key), values[i]);
		if (rand_r(&seed) % 2) {
			uint64_t *value = map_put(&map, key);

			assert_non_null(value);
			assert_int_equal(*value, values[i]);
			count += values[i] == MAP_NONE;
			*value = values[i] = (uint64_t)step;
		} else {
			assert_int_equal(map_remove(&map, key), values[i]);
			count -= values[i] != MAP_NONE;
			values[i] = MAP_NONE;
		}
		assert_int_equal(map.count, count);
	}
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(map_get(&map, key_of(i)), values[i]);
	map_deinit(&map);
}

static void empty(void **state)
{
	struct map map = {0};

	assert_int_equal(map_get(&map, 0), MAP_NONE);
	assert_int_equal(map_remove(&map, 0), MAP_NONE);
	map_deinit(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_an_array),
		cmocka_unit_test(empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
