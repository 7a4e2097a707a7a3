/* Numbers, names and texts as the views write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <mallow/mallow.h>

#include "hosted/nearest.h"
#include "report/export/xml_text.h"
#include "report/words/format.h"

static void bytes(void **state)
{
	static const struct {
		uint64_t value;
		const char *rounded, *exact;
	} cases[] = {
		{0, "0 B", "0 B"},
		{1, "1 B", "1 B"},
		{999, "999 B", "999 B"},
		{1000, "1.00 KB", "1,000 B"},
		{1234, "1.23 KB", "1,234 B"},
		{9994, "9.99 KB", "9,994 B"},
		{9995, "10.0 KB", "9,995 B"},
		{99949, "99.9 KB", "99,949 B"},
		{99950, "100 KB", "99,950 B"},
		{999499, "999 KB", "999,499 B"},
		{999500, "1.00 MB", "999,500 B"},
		{1234567890, "1.23 GB", "1,234,567,890 B"},
		{UINT64_MAX, "18.4 EB", "18,446,744,073,709,551,615 B"},
	};

	char text[MALLOW_SIZE_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(format_bytes(cases[i].value, false).text, cases[i].rounded);
		assert_string_equal(format_bytes(cases[i].value, true).text, cases[i].exact);
		assert_string_equal(mallow_format_size(cases[i].value, text), cases[i].rounded);
	}
}

static void counts(void **state)
{
	assert_string_equal(format_count(0, false).text, "0");
	assert_string_equal(format_count(9999999, false).text, "9,999,999");
	assert_string_equal(format_count(10000000, false).text, "10.0 M");
	assert_string_equal(format_count(10000000, true).text, "10,000,000");
	assert_string_equal(format_counted(1, "call", false).text, "1 call");
	assert_string_equal(format_counted(0, "call", false).text, "0 calls");
	assert_string_equal(format_counted(UINT64_MAX, "block", true).text,
			    "18,446,744,073,709,551,615 blocks");
}

static void classes(void **state)
{
	static const struct {
		uint64_t low, high;
		const char *size, *time;
	} cases[] = {
		{0, 1,
		 "0\xe2\x80\x93"
		 "1 B",
		 "up to 1 ns"},
		{3, 4,
		 "3\xe2\x80\x93"
		 "4 B",
		 "2\xe2\x80\x93"
		 "4 ns"},
		{513, 1024,
		 "513 B\xe2\x80\x93"
		 "1 KiB",
		 "512 ns\xe2\x80\x93"
		 "1 us"},
		{1025, 2048,
		 "1\xe2\x80\x93"
		 "2 KiB",
		 "1\xe2\x80\x93"
		 "2 us"},
		{(512 << 10) + 1, 1 << 20,
		 "512 KiB\xe2\x80\x93"
		 "1 MiB",
		 "524 us\xe2\x80\x93"
		 "1 ms"},
		{(UINT64_C(1) << 63) + 1, UINT64_MAX, "above 8 EiB", "above 9223372036 s"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(format_size_class(cases[i].low, cases[i].high).text,
				    cases[i].size);
		assert_string_equal(format_time_class(cases[i].low, cases[i].high).text,
				    cases[i].time);
	}
	assert_string_equal(format_size_class(1048576, 1048576).text, "1,048,576 B");
	assert_string_equal(format_size_class(0, 0).text, "0 B");
}

static void times(void **state)
{
	assert_string_equal(format_time(0).text, "0 ns");
	assert_string_equal(format_time(1500).text, "1.50 us");
	assert_string_equal(format_time(199000000).text, "199 ms");
	assert_string_equal(format_time(59990000000).text, "60.0 s");
	assert_string_equal(format_time(60000000000).text, "1m00s");
	assert_string_equal(format_time(3599499999999).text, "59m59s");
	assert_string_equal(format_time(3599500000000).text, "1h00m00s");
	assert_string_equal(format_time(90061000000000).text, "25h01m01s");
	// Nothing overflows at the end of the range.
	assert_string_equal(format_time(UINT64_MAX).text, "5124095h34m34s");
}

/* Not rounded, and zeros behind the point are there. */
static void fine(void **state)
{
	static const struct {
		uint64_t value;
		const char *size, *age;
	} cases[] = {
		{0, "0 bytes", "0 ns"},
		{999, "999 bytes", "999 ns"},
		{1005, "1.005 KB", "1.005 us"},
		{22704, "22.704 KB", "22.704 us"},
		{999999, "999.999 KB", "999.999 us"},
		{2121999, "2.121 MB", "2.121 ms"},
		{6236000, "6.236 MB", "6.236 ms"},
		{12050000000, "12.050 GB", "12.050 secs"},
		{59999999999, "59.999 GB", "59.999 secs"},
		{125000000000, "125.000 GB", "2 mins 5 secs"},
		{3720000000000, "3720.000 GB", "1 hours 2 mins"},
		{UINT64_MAX, "18446744073.709 GB", "5124095 hours 34 mins"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(format_bytes_fine(cases[i].value).text, cases[i].size);
		assert_string_equal(format_age(cases[i].value).text, cases[i].age);
	}
}

static void percents(void **state)
{
	assert_string_equal(format_percent(0, 0).text, "-");
	assert_string_equal(format_percent(0, 7).text, "0.0 %");
	assert_string_equal(format_percent(1, 100000).text, "<0.1 %");
	assert_string_equal(format_percent(1, 1000).text, "0.1 %");
	assert_string_equal(format_percent(9994, 10000).text, "99.9 %");
	assert_string_equal(format_percent(9996, 10000).text, "100 %");
	assert_string_equal(format_percent(UINT64_MAX, UINT64_MAX).text, "100 %");
}

static void xml(void **state)
{
	struct buf buf;

	buf_init(&buf);
	xml_text(&buf, "<a href=\"x\">&'\x01\x7f\xc2\x85\xef\xbf\xbf\xed\xa0\x80\xf0\x9f\x98\x80");
	assert_string_equal(buf_string(&buf), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"
					      "\\x01\\x7f\\xc2\\x85�\\xed\\xa0\\x80😀");
	buf_deinit(&buf);
}

static void nearest(void **state)
{
	static const char *const words[] = {"report", "run", NULL, "export", "trace dump", "top"};
	const size_t count = sizeof(words) / sizeof(words[0]);

	assert_string_equal(nearest_word("reprot", words, count), "report");
	assert_string_equal(nearest_word("exprot", words, count), "export");
	assert_string_equal(nearest_word("rnu", words, count), "run");
	assert_string_equal(nearest_word("tpo", words, count), "top");
	assert_string_equal(nearest_word("leaks", (const char *const[]){"peak", "leaked"}, 2),
			    "leaked");
	assert_string_equal(nearest_word("rep", words, count), "report");
	assert_null(nearest_word("xyzzy", words, count));
	assert_null(nearest_word("", words, count));
	assert_null(
		nearest_word("a word far longer than any word of the whole list", words, count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes), cmocka_unit_test(counts),   cmocka_unit_test(classes),
		cmocka_unit_test(times), cmocka_unit_test(percents), cmocka_unit_test(fine),
		cmocka_unit_test(xml),   cmocka_unit_test(nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
