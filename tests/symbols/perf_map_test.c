/* Lists of code made at run time: both ways of writing them, overlaps, damage, owners and times. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/perf_map.h"

#define SECOND INT64_C(1000000000)

static struct perf_map_time always = {.from_ns = 0, .until_ns = INT64_MAX};

static char path[] = "/tmp/perf_map_test.XXXXXX";

static void write_map(const char *text, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* The name at address in the list; "-": none. *offset receives where in the function. */
static const char *name_in(const char *text, size_t size, const struct perf_map_time *time,
			   uint64_t address, uint64_t *offset)
{
	static char name[256];
	struct arena arena = {0};
	struct perf_map_place places[] = {{.address = 1}, {.address = address}};

	write_map(text, size);
	assert_null(perf_map_name(path, time, &arena, places, 2));
	assert_null(places[0].name);
	snprintf(name, sizeof(name), "%s", places[1].name ? places[1].name : "-");
	*offset = places[1].offset;
	arena_deinit(&arena);
	return name;
}

static void check(const char *text, uint64_t address, const char *expected)
{
	uint64_t offset;

	assert_string_equal(name_in(text, strlen(text), &always, address, &offset), expected);
}

static void forms(void **unused)
{
	uint64_t offset;

	check("1000 10 f\n", 0x1000, "f");
	check("1000 10 f\n", 0x100f, "f");
	check("1000 10 f\n", 0x1010, "-");
	check("1000 10 f\n", 0xfff, "-");
	check("0x00007f0000001000 0x10 java.lang.String::hash\n", 0x7f0000001000,
	      "java.lang.String::hash");
	check("7F00AB 1 LazyCompile:~go /a b/c.js:1:2\r\n", 0x7f00ab,
	      "LazyCompile:~go /a b/c.js:1:2");
	check("ffffffffffffff00 ff top\n", 0xfffffffffffffff0, "top");
	assert_string_equal(name_in("1000 10 f\n", 10, &always, 0x1007, &offset), "f");
	assert_int_equal(offset, 7);
}

static void last_counts(void **unused)
{
	static const char text[] = "1000 100 old\n"
				   "1040 10 inner\n"
				   "1048 100 newer\n";

	check(text, 0x1000, "old");
	check(text, 0x1047, "inner");
	check(text, 0x1048, "newer");
	check(text, 0x10ff, "newer");
	check("1000 10 a\n1000 10 b\n", 0x1005, "b");
	check("1040 10 inner\n1000 100 outer\n", 0x1040, "outer");
}

static void damage(void **unused)
{
	static const char zero[] = "1000 10 a\0b\n2000 10 good\n";
	uint64_t offset;

	check("", 0x1000, "-");
	check("1000 10 f", 0x1000, "-"); // still being written
	check("1000 10 f\n1000 10 g", 0x1000, "f");
	check("x\n\n 1000\n1000\n1000 \n1000 10\n1000 10 \n1000 0 f\n-1 10 f\n"
	      "11111111111111111 1 f\nfffffffffffffff0 11 f\n0x 1 f\n",
	      0x1000, "-");
	check("garbage\n1000 10 f\n", 0x1000, "f");
	assert_string_equal(name_in(zero, sizeof(zero) - 1, &always, 0x1000, &offset), "-");
	assert_string_equal(name_in(zero, sizeof(zero) - 1, &always, 0x2000, &offset), "good");
}

static void times(void **unused)
{
	static const char text[] = "1000 10 f\n";
	struct timespec written[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
	struct {
		struct perf_map_time time;
		bool named;
	} cases[] = {
		{{900 * SECOND, 1100 * SECOND, 0}, true},
		{{1000 * SECOND, 1000 * SECOND, 0}, true},
		{{1001 * SECOND, INT64_MAX, 0}, false},
		{{900 * SECOND, 999 * SECOND, 0}, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena arena = {0};
		struct perf_map_place place = {.address = 0x1000};

		write_map(text, strlen(text));
		cases[i].time.user = geteuid();
		assert_int_equal(utimensat(AT_FDCWD, path, written, 0), 0);
		assert_null(perf_map_name(path, &cases[i].time, &arena, &place, 1));
		assert_int_equal(place.name != NULL, cases[i].named);
		arena_deinit(&arena);
	}
}

static void strange_files(void **unused)
{
	struct arena arena = {0};
	struct perf_map_place place = {.address = 0x1000};
	char fifo[sizeof(path) + 8];

	assert_null(perf_map_name("/nonexistent/map", &always, &arena, &place, 1));
	assert_null(perf_map_name("/dev/zero", &always, &arena, &place, 1));
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_null(perf_map_name(fifo, &always, &arena, &place, 1));
	unlink(fifo);
	assert_null(place.name);
	arena_deinit(&arena);
}

/* Lines that are longer than any name, within a block of the reader and beyond; links; huge files.
 */
static void bounds(void **unused)
{
	static const size_t lengths[] = {4000, 5000, 65526, 65536, 200000};
	char *text = malloc(300000), link_name[sizeof(path) + 8];
	struct perf_map_place place = {.address = 0x2000};
	struct arena arena = {0};
	uint64_t offset;

	assert_non_null(text);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t length = (size_t)sprintf(text, "1000 10 f\n3000 10 ");

		memset(text + length, 'x', lengths[i]);
		length += lengths[i];
		length += (size_t)sprintf(text + length, "\n2000 10 g\n");
		assert_string_equal(name_in(text, length, &always, 0x2000, &offset), "g");
		assert_string_equal(name_in(text, length, &always, 0x1000, &offset), "f");
		assert_int_equal(*name_in(text, length, &always, 0x3000, &offset) == 'x', i == 0);
	}
	free(text);
	write_map("2000 10 g\n", 10);
	snprintf(link_name, sizeof(link_name), "%s.link", path);
	assert_int_equal(symlink(path, link_name), 0);
	assert_null(perf_map_name(link_name, &always, &arena, &place, 1));
	unlink(link_name);
	assert_null(place.name);
	assert_int_equal(truncate(path, INT64_C(3) << 30), 0); // a hole
	assert_null(perf_map_name(path, &always, &arena, &place, 1));
	assert_null(place.name);
	assert_int_equal(truncate(path, 200 << 20), 0);
	assert_null(perf_map_name(path, &always, &arena, &place, 1));
	assert_string_equal(place.name, "g");
	arena_deinit(&arena);
}

/* Anyone can put a file into /tmp. */
static void owners(void **unused)
{
	static const char text[] = "1000 10 f\n";
	uint64_t offset;

	if (geteuid())
		skip();
	write_map(text, strlen(text));

	struct arena arena = {0};
	struct perf_map_place place = {.address = 0x1000};

	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_null(perf_map_name(path, &always, &arena, &place, 1));
	assert_null(place.name);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_string_equal(name_in(text, strlen(text), &always, 0x1000, &offset), "f");
	arena_deinit(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),  cmocka_unit_test(last_counts),   cmocka_unit_test(damage),
		cmocka_unit_test(times),  cmocka_unit_test(strange_files), cmocka_unit_test(owners),
		cmocka_unit_test(bounds),
	};
	int fd = mkstemp(path);

	always.user = geteuid();

	if (fd < 0)
		return 1;
	close(fd);

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	unlink(path);
	return failed;
}
