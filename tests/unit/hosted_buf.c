/* Text builders, JSON and CSV. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "hosted/buf.h"
#include "hosted/csv_writer.h"
#include "hosted/json_writer.h"

static void in_memory(void **state)
{
	struct buf buf;
	char *taken;

	buf_init(&buf);
	for (int i = 0; i < 1000; i++)
		buf_printf(&buf, "%d,", i);
	buf_u64(&buf, UINT64_MAX);
	buf_u64(&buf, 0);
	buf_repeat(&buf, '-', 300);
	buf_hex(&buf, 0);
	buf_hex(&buf, 0x1f00a);
	buf_hex(&buf, UINT64_MAX);
	assert_ok(buf_finish(&buf));
	assert_int_equal(buf.size, 3890 + 20 + 1 + 300 + 1 + 5 + 16);
	taken = buf_take(&buf);
	assert_int_equal(strlen(taken), 4233);
	assert_string_equal(taken + 4211, "01f00affffffffffffffff");
	assert_memory_equal(taken + 3884, "8,999,184467440737095516150---", 30);
	assert_int_equal(buf.size, 0);
	free(taken);
	buf_deinit(&buf);
}

static int refuse(void *argument, const void *data, size_t size)
{
	int *calls = argument;

	++*calls;
	return ENOSPC;
}

/* After the first failure nothing is tried any more, and the end tells of it. */
static void failure_is_sticky(void **state)
{
	struct buf buf;
	int calls = 0;

	buf_init_sink(&buf, refuse, &calls, "out.txt");
	for (int i = 0; i < 1000000; i++)
		buf_text(&buf, "text ");
	assert_int_equal(calls, 1);
	assert_err(buf_finish(&buf), "cannot write out.txt: No space left on device");
	buf_deinit(&buf);
}

static void to_descriptor(void **state)
{
	char text[300000], read_back[300001] = "";
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct buf buf;

	memset(text, 'x', sizeof(text));
	buf_init_fd(&buf, fd, "memory");
	buf_text(&buf, "first ");
	buf_put(&buf, text, sizeof(text));
	buf_text(&buf, " last");
	assert_ok(buf_finish(&buf));
	buf_deinit(&buf);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 300011);
	assert_int_equal(pread(fd, read_back, 11, 300000), 11);
	assert_string_equal(read_back, "xxxxxx last");
	close(fd);
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	buf_init_fd(&buf, fd, "/dev/full");
	buf_text(&buf, "x");
	assert_err(buf_finish(&buf), "/dev/full");
	buf_deinit(&buf);
	close(fd);
}

static void json_values(struct json_writer *json)
{
	json_object(json);
	json_field_text(json, "text", "a\"b\\c\n\t\x01\x7f/");
	json_key(json, "list");
	json_array(json);
	json_u64(json, UINT64_MAX);
	json_hex(json, UINT64_MAX);
	json_i64(json, INT64_MIN);
	json_double(json, 0.1);
	json_double(json, 1e300);
	json_double(json, NAN);
	json_bool(json, true);
	json_null(json);
	json_text(json, NULL);
	json_end(json);
	json_key(json, "empty");
	json_object(json);
	json_end(json);
	json_end(json);
}

static void json(void **state)
{
	struct json_writer json;
	struct buf buf;

	buf_init(&buf);
	json_init(&json, &buf, false);
	json_values(&json);
	assert_string_equal(buf_string(&buf),
			    "{\"text\":\"a\\\"b\\\\c\\n\\t\\u0001\\u007f/\",\"list\":["
			    "18446744073709551615,\"0xffffffffffffffff\",-9223372036854775808,0.1,"
			    "1e+300,null,true,null,"
			    "null],\"empty\":{}}");
	buf_deinit(&buf);
	buf_init(&buf);
	json_init(&json, &buf, true);
	json_object(&json);
	json_field_hex(&json, "a", 10);
	json_key(&json, "b");
	json_array(&json);
	json_u64(&json, 1);
	json_u64(&json, 2);
	json_end(&json);
	json_end(&json);
	assert_string_equal(buf_string(&buf),
			    "{\n  \"a\": \"0xa\",\n  \"b\": [\n    1,\n    2\n  ]\n}\n");
	buf_deinit(&buf);
}

/* Valid sequences stay; of others each longest valid beginning becomes one U+FFFD. */
static void json_utf8(void **state)
{
#define R "\xef\xbf\xbd"
	static const char *const cases[][2] = {
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"a\xff"
		 "b",
		 "a" R "b"},
		{"\xc0\x80", R R},             // overlong
		{"\xed\xa0\x80", R R R},       // surrogate
		{"\xf4\x90\x80\x80", R R R R}, // beyond U+10FFFF
		{"\xe2\x82", R},               // cut
		{"\xf0\x9f\x98x", R "x"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json_writer json;
		struct buf buf;
		char expected[64] = "\"";

		strcat(strcat(expected, cases[i][1]), "\"");
		buf_init(&buf);
		json_init(&json, &buf, false);
		json_text(&json, cases[i][0]);
		assert_string_equal(buf_string(&buf), expected);
		buf_deinit(&buf);
	}
}

static void csv(void **state)
{
	struct csv_writer csv = {0};
	struct buf buf;

	buf_init(&buf);
	csv.buf = &buf;
	csv_words(&csv, "a b_c d");
	csv_text(&csv, "plain text; 'with' signs");
	csv_u64(&csv, UINT64_MAX);
	csv_empty(&csv);
	csv_text(&csv, NULL);
	csv_text(&csv, "");
	csv_end_row(&csv);
	csv_text(&csv, "a,b");
	csv_text(&csv, "say \"x\"");
	csv_text(&csv, "two\nlines\r");
	csv_text(&csv, "\xff\xc3\xa4\xe2\x82");
	csv_end_row(&csv);
	csv_empty(&csv);
	csv_end_row(&csv);
	assert_string_equal(buf_string(&buf), "a,b_c,d\r\n"
					      "plain text; 'with' signs,18446744073709551615,,,\r\n"
					      "\"a,b\",\"say \"\"x\"\"\",\"two\\x0alines\\x0d\","
					      "\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\r\n"
					      "\r\n");
	// A spreadsheet runs what begins so; numbers are none of these texts.
	buf.size = 0;
	csv_text(&csv, "=1+1");
	csv_text(&csv, "\t=1");
	csv_text(&csv, "a=1");
	csv_i64(&csv, -5);
	csv_end_row(&csv);
	csv.raw = true;
	csv_text(&csv, "-x");
	csv_text(&csv, "\x1b\n");
	csv_end_row(&csv);
	assert_string_equal(buf_string(&buf), "'=1+1,'\\x09=1,a=1,-5\r\n-x,\"\x1b\n\"\r\n");
	buf_deinit(&buf);
}

/* The net: what nobody escaped does not get out either, and no line begins a command. */
static void shown(void **state)
{
	struct buf buf = {.fd = -1, .shown = true};

	buf_printf(&buf, "%s\n", "\033[1mok\033[0m \033[2J \x9b \xc2\x9b \xe2\x80\xae");
	buf_text(&buf, " \xe3\x80\x80::error::x::y\n\t");
	buf_char(&buf, ':');
	buf_char(&buf, ':');
	buf_shown(&buf, "a\nb##[error]\xf3\xa0\x80\x81\xc3\xa4", 18);
	assert_string_equal(buf_string(&buf),
			    "\033[1mok\033[0m \\x1b[2J \\x9b \\xc2\\x9b \\xe2\\x80\\xae\n"
			    " \xe3\x80\x80\\x3a:error::x::y\n\t\\x3a:a\\x0ab\\x23#[error]"
			    "\\xf3\\xa0\\x80\\x81\xc3\xa4");
	buf_deinit(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_memory),     cmocka_unit_test(failure_is_sticky),
		cmocka_unit_test(to_descriptor), cmocka_unit_test(json),
		cmocka_unit_test(json_utf8),     cmocka_unit_test(csv),
		cmocka_unit_test(shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
