/* The rules by which what is never freed gets a shape: analysis/findings/shape.h. */
#include "analysis/findings/shape.h"

#include <string.h>

#include "check.h"

/* kept: a digit for each part of the run; live: the same, NULL: what was kept so far. */
static struct shape_result judge(const char *kept, const char *live, uint64_t late)
{
	struct shape_input input = {.late_bytes = late * 1000};
	uint64_t sum = 0;

	for (int i = 0; i < FACTS_POINTS; i++) {
		input.kept[i] = (uint64_t)(kept[i] - '0') * 1000;
		sum += input.kept[i];
		input.live[i] = live ? (uint64_t)(live[i] - '0') * 1000 : sum;
		input.kept_blocks += (uint64_t)(kept[i] - '0') * 100;
	}
	return shape_judge(&input);
}

#define assert_shape(wanted, kept, live, late)                                                     \
	assert_int_equal(judge(kept, live, late).shape, SHAPE_##wanted)

static void shapes(void **state)
{
	assert_shape(NONE, "0000000000000000", NULL, 0);
	assert_shape(GROWS, "1111111111111111", NULL, 0);
	assert_shape(ONCE, "5000000000000000", NULL, 0);
	assert_shape(ONCE, "0045000000000000", NULL, 0);
	assert_shape(ONCE, "0045000000000001", NULL, 1);
	assert_shape(LATE, "0000000000000005", NULL, 5);
	assert_shape(FLAT, "2222000000000000", NULL, 0);
	assert_shape(STEPS, "0100001000010000", NULL, 0);
	assert_shape(STOPPED, "1111111111000000", NULL, 0);
	assert_shape(STOPPED, "0001100001100000", NULL, 0);
}

/* Six of the last seven eighths, whatever the first has. */
static void growth_with_gaps(void **state)
{
	assert_shape(GROWS, "0010100010101010", NULL, 0);
	assert_shape(GROWS, "9010100010101010", NULL, 0);
	assert_shape(STEPS, "0010100010100010", NULL, 0);
}

/* It began in the middle of the run, and kept on. */
static void growth_that_begins_later(void **state)
{
	assert_shape(GROWS, "0000000000101010", NULL, 0);
	assert_shape(GROWS, "0000000001101010", NULL, 0);
	assert_shape(STOPPED, "0000000000001110", NULL, 0);
	assert_int_equal(judge("0000000000101010", NULL, 0).first, 10);
}

/* A cache at its limit keeps young blocks, but is not larger than it was. */
static void caches(void **state)
{
	assert_shape(FLAT, "1111111111111111", "2468888888888888", 0);
	assert_shape(FLAT, "0000000011111111", "4888888888888888", 0);
	// It has had more, so it does not grow.
	assert_shape(STEPS, "0010100010101010", "1111111119999955", 0);
}

static void trust(void **state)
{
	struct shape_input few = {.kept_blocks = 9};

	assert_int_equal(judge("1111111111111111", NULL, 0).trust, FINDING_TRUST_CLEAR);
	assert_int_equal(judge("1111111111119999", NULL, 0).trust, FINDING_TRUST_LIKELY);
	assert_int_equal(judge("0100001000010000", NULL, 0).trust, FINDING_TRUST_LIKELY);
	assert_int_equal(judge("5000000000000000", NULL, 0).trust, FINDING_TRUST_CLEAR);
	assert_int_equal(judge("0000000000000005", NULL, 5).trust, FINDING_TRUST_UNCLEAR);
	for (int i = 0; i < FACTS_POINTS; i++) {
		few.kept[i] = 10;
		few.live[i] = (uint64_t)(i + 1) * 10;
	}
	assert_int_equal(shape_judge(&few).shape, SHAPE_GROWS);
	assert_int_equal(shape_judge(&few).trust, FINDING_TRUST_UNCLEAR);
}

static void steps(void **state)
{
	struct shape_result result = judge("0110001000010000", NULL, 0);

	assert_int_equal(result.steps, 3);
	assert_int_equal(result.first, 1);
	assert_int_equal(result.last, 11);
}

/* Damaged numbers from a file: any answer is right, none is a fault. */
static void extremes(void **state)
{
	struct shape_input input;

	memset(&input, 0xff, sizeof(input));
	shape_judge(&input);
	input = (struct shape_input){.kept = {UINT64_MAX, 1}};
	assert_int_equal(shape_judge(&input).shape, SHAPE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(growth_with_gaps),
		cmocka_unit_test(growth_that_begins_later),
		cmocka_unit_test(caches),
		cmocka_unit_test(trust),
		cmocka_unit_test(steps),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
