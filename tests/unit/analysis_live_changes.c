/* How live bytes change from allocation to allocation, against the slow and obvious way. */
#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/live_changes.h"
#include "analysis/sites/sample_weight.h"
#include "base/random.h"
#include "check.h"

#define MANY 800000 /* three windows, and some */
#define MEAN 500    /* of a sample, in bytes */

static uint64_t size[MANY];
static uint32_t free_turn[MANY];
static uint64_t bits[MANY / 64 + 1];
static uint64_t expected[MANY + 1];

/* Most blocks end soon, some late, some never. */
static void make_blocks(void)
{
	uint64_t random = 1;

	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t dice = random_next(&random), later = dice >> 8 & 0x3f;

		if (dice % 16 == 0)
			later = dice >> 8 & 0x7ffff;
		size[i] = dice >> 40 & 0xfff;
		free_turn[i] = dice % 32 == 1          ? RECORDING_NONE
			       : i + 1 + later <= MANY ? (uint32_t)(i + 1 + later)
						       : MANY;
		if (dice >> 32 & 1)
			bits[i / 64] |= UINT64_C(1) << i % 64;
	}
}

/* Returns what was live before the first. */
static uint64_t expect(const struct live_changes *changes)
{
	uint64_t live = 0;

	memset(expected, 0, sizeof(expected));
	for (uint64_t i = 0; i < changes->end; i++) {
		uint64_t bytes = size[i];

		if (!block_bits_has(changes->bits, i))
			continue;
		if (changes->sample_mean)
			bytes *= sample_weight(changes->sample_mean, bytes, i + 1);
		expected[i] += bytes;
		if (free_turn[i] != RECORDING_NONE)
			expected[free_turn[i]] -= bytes;
	}
	for (uint64_t i = 0; i < changes->first; i++)
		live += expected[i];
	return live;
}

static void check_span(uint64_t first, uint64_t end, const uint64_t *of, uint64_t mean)
{
	const struct block_columns blocks = {.count = MANY, .size = size, .free_turn = free_turn};
	struct live_changes changes = {
		.blocks = &blocks,
		.bits = of,
		.sample_mean = mean,
		.first = first,
		.end = end,
	};
	uint64_t at = first, live = expect(&changes);
	bool more;

	assert_ok(live_changes_begin(&changes));
	assert_int_equal(changes.live, live);
	for (;;) {
		assert_ok(live_changes_next(&changes, &more));
		if (!more)
			break;
		assert_int_equal(changes.begin, at);
		assert_true(changes.stop > at && changes.stop <= end);
		assert_memory_equal(changes.changes, expected + at,
				    (changes.stop - at) * sizeof(*expected));
		at = changes.stop;
	}
	assert_int_equal(at, end);
	live_changes_deinit(&changes);
}

static void spans(void **state)
{
	make_blocks();
	for (int i = 0; i < 2; i++) {
		const uint64_t *of = i ? bits : NULL;

		check_span(0, MANY, of, 0);
		check_span(0, MANY, of, MEAN);
		check_span(300001, 700001, of, 0);
		check_span(MANY - 1, MANY, of, 0);
		check_span(5, 6, of, 0);
		check_span(0, 0, of, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(spans)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
