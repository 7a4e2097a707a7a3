/* Which words the settings accept, and what they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "settings/settings.h"

struct meaning {
	const char *word;
	uint64_t value;
};

#define SECOND UINT64_C(1000000000)

static const struct meaning sizes[] = {
	{"0", 0},
	{"1", 1},
	{"4096", 4096},
	{"64K", 64 << 10},
	{"64k", 64 << 10},
	{"10M", 10 << 20},
	{"1G", 1 << 30},
	{"0G", 0},
	{"18446744073709551615", UINT64_MAX},
	{"17179869183G", UINT64_C(17179869183) << 30},
};
static const char *const no_sizes[] = {
	"",
	"K",
	"-1",
	"1T",
	"64KB",
	"64 K",
	" 64",
	"1.5M",
	"0x10",
	"18446744073709551616",
	"17179869184G",
	"K64",
	"1KK",
};

static const struct meaning times[] = {
	{"0", 0},
	{"2s", 2 * SECOND},
	{"500ms", SECOND / 2},
	{"1m", 60 * SECOND},
	{"1h2m3s", 3723 * SECOND},
	{"1s500ms", 3 * SECOND / 2},
	{"90s", 90 * SECOND},
	{"0s", 0},
	{"5124095h", UINT64_C(5124095) * 3600 * SECOND},
};
static const char *const no_times[] = {
	"",         "2",   "s",  "-1s", "2 s",    "1.5s", "3s2m", "1s1s",
	"5124096h", "1s2", "ms", "1d",  "500msx", "00",   "1hm",
};

static const struct meaning periods[] = {
	{"0", 0},
	{"5", 5 * SECOND},
	{"500ms", SECOND / 2},
	{"1h2m3s", 3723 * SECOND},
};
static const char *const no_periods[] = {"", "-1", "1.5", "2 s", "5x", "18446744074"};

static const struct meaning booleans[] = {
	{"1", 1}, {"true", 1}, {"yes", 1}, {"on", 1}, {"0", 0}, {"false", 0}, {"no", 0}, {"off", 0},
};
static const char *const no_booleans[] = {"", "2", "t", "TRUE", "offf", "01", "0 1"};

static const struct meaning numbers[] = {{"1", 1}, {"16384", 16384}, {"4294967295", UINT32_MAX}};
static const char *const no_numbers[] = {"", "0", "4294967296", "-1", "1K", "99999999999999999999"};
static const struct meaning naturals[] = {{"0", 0}, {"7", 7}, {"4294967295", UINT32_MAX}};
static const char *const no_naturals[] = {"", "4294967296", "-1", "1K", "x", "0x1"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void check(enum setting setting, const struct meaning *good, size_t good_count,
		  const char *const *bad, size_t bad_count)
{
	for (size_t i = 0; i < good_count; i++) {
		uint64_t value = ~good[i].value;

		assert_true(setting_parse(setting, good[i].word, &value));
		assert_int_equal(value, good[i].value);
	}
	for (size_t i = 0; i < bad_count; i++) {
		uint64_t value = 77;

		assert_false(setting_parse(setting, bad[i], &value));
		assert_int_equal(value, 77);
	}
}

static void words(void **state)
{
	(void)state;
	check(SETTING_MAX_FILE_SIZE, sizes, COUNT(sizes), no_sizes, COUNT(no_sizes));
	check(SETTING_MEMORY_SAMPLES, times, COUNT(times), no_times, COUNT(no_times));
	check(SETTING_INTERVAL, periods, COUNT(periods), no_periods, COUNT(no_periods));
	check(SETTING_FREE_STACKS, booleans, COUNT(booleans), no_booleans, COUNT(no_booleans));
	check(SETTING_DEPTH, numbers, COUNT(numbers), no_numbers, COUNT(no_numbers));
	check(SETTING_SEED, naturals, COUNT(naturals), no_naturals, COUNT(no_naturals));
}

static void choices(void **state)
{
	uint64_t value = 77;

	(void)state;
	assert_true(setting_parse(SETTING_BACKTRACE, "full", &value));
	assert_int_equal(value, SETTING_BACKTRACE_FULL);
	assert_true(setting_parse(SETTING_BACKTRACE, "short", &value));
	assert_int_equal(value, SETTING_BACKTRACE_SHORT);
	assert_true(setting_parse(SETTING_BACKTRACE, "none", &value));
	assert_int_equal(value, SETTING_BACKTRACE_NONE);
	assert_false(setting_parse(SETTING_BACKTRACE, "non", &value));
	assert_false(setting_parse(SETTING_BACKTRACE, "full short", &value));
	assert_false(setting_parse(SETTING_BACKTRACE, "", &value));
}

static void mistyped(void **state)
{
	(void)state;
	assert_true(setting_is_mistyped("MALLOW_SAMPEL=1"));
	assert_true(setting_is_mistyped("MALLOW_SAMPL=1"));
	assert_true(setting_is_mistyped("MALLOW_SAMPLES=1"));
	assert_true(setting_is_mistyped("MALLOW_="));
	assert_true(setting_is_mistyped("MALLOW_TOKE=MALLOW_TOKEN="));
	assert_false(setting_is_mistyped("MALLOW_SAMPLE=1"));
	assert_false(setting_is_mistyped("MALLOW_TOKEN=secret"));
	assert_false(setting_is_mistyped("MALLOW_TEST_FAIL_AT=1"));
	assert_false(setting_is_mistyped("MALLOW=1"));
	assert_false(setting_is_mistyped("PATH=/bin"));
}

/* Two commands have a --depth; the others are named for what the user of the tool means. */
static bool has_other_name(enum setting setting)
{
	return setting == SETTING_PRINT_DEPTH || setting == SETTING_CONNECT ||
	       setting == SETTING_BROADCAST;
}

/* Each row's default is a word that it accepts, and its variable and option are one name. */
static void rows(void **state)
{
	(void)state;
	for (int i = 0; i < SETTING_COUNT; i++) {
		const struct setting_info *info = setting_info(i);
		const char *name = info->variable + strlen("MALLOW_");
		uint64_t value;

		assert_memory_equal(info->variable, "MALLOW_", strlen("MALLOW_"));
		assert_true(strlen(name) == strlen(info->option) || has_other_name(i));
		for (size_t c = 0; name[c] && !has_other_name(i); c++)
			assert_int_equal(info->option[c],
					 name[c] == '_' ? '-' : name[c] - 'A' + 'a');
		assert_true(*setting_allowed(i));
		switch (info->kind) {
		case SETTING_KIND_CHOICE:
			assert_int_equal(setting_default(i), 0);
			break;
		case SETTING_KIND_BOOLEAN:
		case SETTING_KIND_NUMBER:
		case SETTING_KIND_NATURAL:
		case SETTING_KIND_SIZE:
		case SETTING_KIND_TIME:
		case SETTING_KIND_PERIOD:
			assert_true(setting_parse(i, info->standard, &value));
			assert_int_equal(value, setting_default(i));
			break;
		default:
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(choices),
		cmocka_unit_test(mistyped),
		cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
