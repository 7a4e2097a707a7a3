/* The words that filters accept, and what a filter that matches all comes to. */
#include <errno.h>
#include <string.h>

#include "analysis/filter/filtered.h"
#include "analysis/filter/moment.h"
#include "analysis/recording_memory.h"
#include "check.h"
#include "failing_malloc.h"
#include "hosted/cleanup.h"
#include "hosted/regex.h"
#include "sample_recordings.h"

#define SECOND      UINT64_C(1000000000)
#define SAMPLE_MEAN 112 /* its place in the header */

struct meaning {
	const char *word;
	uint64_t value;
};

static const struct meaning intervals[] = {
	{"0", 0},
	{"2", 2 * SECOND},
	{"2s", 2 * SECOND},
	{"500ms", SECOND / 2},
	{"1h2m3s", 3723 * SECOND},
	{"1H2M3S", 3723 * SECOND},
	{"1m30", 90 * SECOND},
	{" 1 m 30 ", 90 * SECOND},
	{"3s2m", 123 * SECOND},
	{"7us", 7000},
	{"7ns", 7},
	{"1s1s", 2 * SECOND},
	{"5124095h", UINT64_C(5124095) * 3600 * SECOND},
};
static const char *const no_intervals[] = {
	"",     " ",        "s",        "-1s", "1.5s", "1d",
	"1 2s", "5124096h", "1s2 ms x", "%",   "10%",  "18446744073709551615ns",
};

static const struct meaning percents[] = {
	{"0%", 0},
	{"50%", 50 * PERCENT},
	{"12.5%", 25 * PERCENT / 2},
	{"250 %", 250 * PERCENT},
	{"0.000001%", 1},
	{"33.333333%", 33333333},
};
static const char *const no_percents[] = {
	"", "%", "50", ".5%", "5.%", "-1%", "0.0000001%", "50%%", "5 0%", "20000000000000%",
};

static void parse_words(void **state)
{
	uint64_t value;

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		if (!interval_parse(intervals[i].word, &value))
			fail_msg("'%s' is refused", intervals[i].word);
		assert_int_equal(value, intervals[i].value);
	}
	for (size_t i = 0; i < sizeof(no_intervals) / sizeof(no_intervals[0]); i++)
		if (interval_parse(no_intervals[i], &value))
			fail_msg("'%s' is accepted", no_intervals[i]);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		if (!percent_parse(percents[i].word, &value))
			fail_msg("'%s' is refused", percents[i].word);
		assert_int_equal(value, percents[i].value);
	}
	for (size_t i = 0; i < sizeof(no_percents) / sizeof(no_percents[0]); i++)
		if (percent_parse(no_percents[i], &value))
			fail_msg("'%s' is accepted", no_percents[i]);
	assert_int_equal(percent_of(25 * PERCENT / 2, 1000), 125);
	assert_int_equal(percent_of(UINT64_MAX, UINT64_MAX), UINT64_MAX);
}

static void parse_moments(void **state)
{
	static const struct {
		const char *word;
		int kind;
		uint64_t number;
	} moments[] = {
		{"1700000000", MOMENT_UNIX, 1700000000},
		{"5s", MOMENT_RUNNING, 5 * SECOND},
		{"1m30", MOMENT_RUNNING, 90 * SECOND},
		{"12.5%", MOMENT_PERCENT, 25 * PERCENT / 2},
		{"peak", MOMENT_PEAK, 0},
		{"end", MOMENT_END, 0},
		{"on#1", MOMENT_ON, 1},
		{"off#12 ", MOMENT_OFF, 12},
		{"on#0", MOMENT_MARK, 0},
		{"on#x", MOMENT_MARK, 0},
		{"off#1x", MOMENT_MARK, 0},
		{"after load", MOMENT_MARK, 0},
		{"-1", MOMENT_MARK, 0},
	};
	static const char *const none[] = {"", "  ", "5x", "1.5s", "18446744073709551616"};
	struct moment moment;

	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); i++) {
		assert_true(moment_parse(moments[i].word, &moment));
		assert_int_equal(moment.kind, moments[i].kind);
		if (moment.kind == MOMENT_MARK)
			assert_string_equal(moment.name, moments[i].word);
		else if (moments[i].number)
			assert_int_equal(moment.number, moments[i].number);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (moment_parse(none[i], &moment))
			fail_msg("'%s' is accepted", none[i]);
}

static struct filter *make_filter(void)
{
	struct filter *filter = NULL;

	assert_ok(filter_create(&filter));
	return filter;
}

static void set_conditions(void **state)
{
	struct filter *filter = make_filter();
	size_t count;
	const struct filter_parameter *parameters = filter_parameters(&count);

	assert_true(filter_is_empty(filter));
	assert_err(filter_set(filter, "size_mni", "1"), "there is no condition 'size_mni'");
	assert_err(filter_set(filter, "size_min", ""), "'' is no value of size_min");
	assert_err(filter_set(filter, "--size-min", "1T"), "'1T' is no value of --size-min");
	assert_err(filter_set(filter, "size_min", "18014398509481984K"), "is no value");
	assert_err(filter_set(filter, "address_min", "0x"), "is no value");
	assert_err(filter_set(filter, "tag", "1K"), "a whole number is wanted");
	assert_err(filter_set(filter, "function_regex", "a)"), "at character 2");
	assert_err(filter_set(filter, "function_regex", ""), "is no value");
	assert_err(filter_set(filter, "lifetime", "only"), "one of all only_leaked");
	assert_err(filter_set(filter, "group_interval_min", "x%"), "is no value");
	assert_true(filter_is_empty(filter));
	assert_ok(filter_set(filter, "size_min", "1K"));
	assert_ok(filter_set(filter, "--size-min", "2K"));
	assert_err(filter_set(filter, "size_min", "?"), "is no value");
	for (size_t i = 0; i < count; i++) {
		const char *value = filter_value(filter, i);

		if (strcmp(parameters[i].name, "size_min") == 0)
			assert_string_equal(value, "2K");
		else
			assert_null(value);
	}
	assert_false(filter_is_empty(filter));
	filter_destroy(filter);
}

static struct recording *open_sample(unsigned int sample, uint64_t sample_mean)
{
	struct recording *recording = NULL;
	struct trace_writer writer;

	sample_recordings[sample].write(&writer);
	if (sample_mean)
		trace_writer_poke(&writer, SAMPLE_MEAN, sample_mean, 8);
	assert_ok(
		recording_open_memory("x", writer.data, writer.size, RECORDING_BLOCKS, &recording));
	trace_writer_deinit(&writer);
	return recording;
}

static void check_same(const struct recording *filtered, const struct recording *recording)
{
	uint32_t count, filtered_count;
	const struct site *sites = recording_sites(recording, &count);
	const struct site *found = recording_sites(filtered, &filtered_count);

	assert_memory_equal(recording_summary(filtered), recording_summary(recording),
			    sizeof(struct recording_summary));
	assert_int_equal(filtered_count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(found[i].stack, sites[i].stack);
		assert_memory_equal(&found[i].calls, &sites[i].calls,
				    sizeof(*sites) - offsetof(struct site, calls));
	}
}

/* Field by field what the recording itself comes to. */
static void all_blocks(void **state)
{
	for (unsigned int i = 0; i < 2 * sample_recording_count; i++) {
		struct recording *recording = open_sample(i / 2, i % 2 ? 64 : 0);
		struct recording *filtered = NULL;
		struct filter *filter = make_filter();
		struct symbolized *symbolized = NULL;
		struct filter_match match;

		assert_ok(symbolized_create(recording, NULL, &symbolized));
		assert_ok(filter_match(filter, recording, symbolized, &match));
		assert_int_equal(match.count, recording_blocks(recording)->count);
		assert_ok(filtered_create(recording, &match, &filtered));
		check_same(filtered, recording);
		recording_close(filtered);
		filter_match_deinit(&match);
		filter_destroy(filter);
		symbolized_destroy(symbolized);
		recording_close(recording);
	}
}

/* Each kind of condition, as it is evaluated. */
static struct err *filter_by_all(const struct recording *recording, struct symbolized *symbolized)
{
	static const char *const conditions[][2] = {
		{"from", "0%"},
		{"lifetime", "all"},
		{"function_regex", "."},
		{"source_regex", "."},
		{"chain_length_min", "1"},
		{"chain_lifetime_min", "0"},
		{"thread", "main"},
		{"group_interval_min", "0"},
		{"first_size_min", "1"},
		{"module_regex", "."},
		{"negative_module_regex", "x"},
		{"temporary", "no"},
		{"free_thread", "x"},
		{"entry", "malloc"},
		{"chain", "0"},
		{"suppress", "leak:x"},
	};
	cleanup(filter_match_deinit) struct filter_match match = {0};
	struct recording *filtered = NULL;
	struct filter *filter = NULL;
	struct err *err = filter_create(&filter);

	for (size_t i = 0; !err && i < sizeof(conditions) / sizeof(conditions[0]); i++)
		err = filter_set(filter, conditions[i][0], conditions[i][1]);
	if (!err)
		err = filter_match(filter, recording, symbolized, &match);
	if (!err)
		memset(match.words, 0xff, match.blocks / 8); // whatever matched: sums of some
	for (uint64_t i = match.count = 0; i * 64 < match.blocks; i++)
		match.count += (uint64_t)__builtin_popcountll(match.words[i]);
	if (!err)
		err = filtered_create(recording, &match, &filtered);
	recording_close(filtered);
	filter_destroy(filter);
	return err;
}

/* Allocation n fails, for every n: an error each time, and no leak. */
static void no_memory(void **state)
{
	struct recording *recording = open_sample(1, 0);
	struct symbolized *symbolized = NULL;
	struct err *err;
	long n = 0;

	assert_ok(symbolized_create(recording, NULL, &symbolized));
	for (;; n++) {
		failing_malloc_countdown = n;
		err = filter_by_all(recording, symbolized);
		failing_malloc_countdown = -1;
		if (!err)
			break;
		assert_int_equal(err_number(err), ENOMEM);
		err_destroy(err);
	}
	assert_true(n > 15);
	symbolized_destroy(symbolized);
	recording_close(recording);
}

static bool search(const char *pattern, const char *text)
{
	struct regex *regex = NULL;
	uint64_t left_ns = UINT64_MAX;
	bool found = false;

	assert_ok(regex_create(pattern, &regex));
	assert_ok(regex_search(regex, text, &left_ns, &found));
	regex_destroy(regex);
	return found;
}

/* Patterns that take for ever end soon: by a limit of steps, not of time. */
static void regexes(void **state)
{
	static const char *const costly[] = {"(a+)+$", "(a|aa)+$", "^(([a-z])+.)+[A-Z]$",
					     "^(\\w+\\s?)*$"};
	struct regex *regex = NULL;
	char text[2000];
	uint64_t left_ns = UINT64_MAX;
	bool found;

	assert_true(search("b+", "abbc"));
	assert_false(search("^b", "abbc"));
	assert_true(search("\xc3\xa4.$", "\xc3\xa4\xc3\xb6"));
	assert_true(search("b", "\xff\xfe b")); // no UTF-8
	assert_false(search("(?=a)b", ""));
	assert_err(regex_create("[b", &regex), "missing terminating ]");
	assert_err(regex_create("\\C", &regex), "at character");
	memset(text, '(', 200);
	memset(text + 200, ')', 200);
	text[400] = '\0';
	assert_err(regex_create(text, &regex), "too deeply");
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 2] = '!';
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < sizeof(costly) / sizeof(costly[0]); i++) {
		assert_ok(regex_create(costly[i], &regex));
		assert_err(regex_search(regex, text, &left_ns, &found), "too costly");
		regex_destroy(regex);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_words),    cmocka_unit_test(parse_moments),
		cmocka_unit_test(set_conditions), cmocka_unit_test(all_blocks),
		cmocka_unit_test(no_memory),      cmocka_unit_test(regexes),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
