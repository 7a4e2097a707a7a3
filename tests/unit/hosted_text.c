/* Text for other places: base64, gzip, URIs; and text without paths. */
#include "check.h"

#include <string.h>
#include <zlib.h>

#include "analysis/names/anonymous.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/encode.h"

static void in_base64(void **state)
{
	// RFC 4648, section 10.
	static const char *const cases[][2] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xff\xfe\xfd", "//79"},
		{"\xfb\xef\xbe", "++++"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

		base64_put(&buf, cases[i][0], strlen(cases[i][0]));
		assert_string_equal(buf_string(&buf), cases[i][1]);
	}
}

/* Larger than the pieces in which it is made: what is made at once is the same as in two. */
static void long_base64(void **state)
{
	cleanup(buf_deinit) struct buf whole = BUF_EMPTY;
	cleanup(buf_deinit) struct buf parts = BUF_EMPTY;
	char data[10000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 256);
	base64_put(&whole, data, sizeof(data));
	for (size_t i = 0; i < sizeof(data); i += 3)
		base64_put(&parts, data + i, sizeof(data) - i < 3 ? sizeof(data) - i : 3);
	assert_string_equal(buf_string(&whole), buf_string(&parts));
	assert_int_equal(whole.size, (sizeof(data) + 2) / 3 * 4);
}

static void in_gzip(void **state)
{
	static char data[100000], back[sizeof(data) + 1];
	static const enum gzip_effort efforts[] = {GZIP_USUAL, GZIP_MOST};

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)("allocation "[i % 11] + i / 5000);
	for (size_t i = 0; i < ARRAY_COUNT(efforts); i++) {
		cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
		z_stream stream = {.next_out = (Bytef *)back, .avail_out = sizeof(back)};

		assert_null(gzip_put(&buf, data, sizeof(data), efforts[i]));
		assert_true(buf.size < sizeof(data) / 20);
		stream.next_in = (Bytef *)buf.data;
		stream.avail_in = (uInt)buf.size;
		assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
		assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
		assert_int_equal(stream.total_out, sizeof(data));
		assert_memory_equal(back, data, sizeof(data));
		inflateEnd(&stream);
	}
}

static void in_uris(void **state)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	(void)state;
	uri_put(&buf, "/a b/^f\xc3\xbc[x]&y=1%~.c");
	assert_string_equal(buf_string(&buf), "/a%20b/%5Ef%C3%BC%5Bx%5D%26y%3D1%25~.c");
}

static void without_paths(void **state)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"main", "main"},
		{"operator/(int, int)", "operator/(int, int)"},
		{"a/b", "b"},
		{"operator/=", "operator/="},
		{"/", ""},
		{"/home/me/a.js", "a.js"},
		{"/home/me/", "me/"},
		{"LazyCompile:~run /home/me/a.js:10", "LazyCompile:~run a.js:10"},
		{"JS:*run /home/me/My Project/p (x)/a.js:1:2", "JS:*run a.js:1:2"},
		{"JS:~/home/me/a.js", "JS:~a.js"},
		{"py::run:/home/me/a.py", "py::run:a.py"},
		{"py::run:../me/a.py", "py::run:a.py"},
		{"{lambda at /src/a.cpp:3:1}(int)", "{lambda at a.cpp:3:1}(int)"},
		{"f(\"/etc/x\", '/etc/y')", "f(\"y')"},
		{"run file:///home/me/a.mjs:1", "run file:a.mjs:1"},
		{"github.com/me/secret/pkg.(*T).Run", "pkg.(*T).Run"},
		{"A::operator/(A) [a/b.so]", "A::operator/(A) [b.so]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

		anonymous_put(&buf, cases[i][0]);
		assert_string_equal(buf_string(&buf), cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_base64),     cmocka_unit_test(long_base64),
		cmocka_unit_test(in_gzip),       cmocka_unit_test(in_uris),
		cmocka_unit_test(without_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
