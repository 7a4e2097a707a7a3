/* Memory that becomes pages and then a file as it grows, and does without a file. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "hosted/files/cache_folder.h"
#include "hosted/files/spill.h"

#define STEPS 12

/* What is kept is as it was; no descriptor is left open. */
static void check_settled(struct spill *spill, size_t filled)
{
	size_t kept = filled / 2;
	int fd = spill->kind == SPILL_FILE ? spill->fd : -1;

	spill_settle(spill, kept);
	assert_true(spill->size >= kept && spill->size < filled);
	for (size_t i = 0; i < kept; i += 501)
		assert_int_equal(((uint8_t *)spill->data)[i], (uint8_t)(i / 501));
	assert_true(fd < 0 || fcntl(fd, F_GETFD) == -1);
}

/* Grows from some bytes to MiBs; what is in it stays. Returns the kind that it ends as. */
static enum spill_kind grow_and_check(void)
{
	struct spill spill = {0};
	size_t size = 1000, filled = 0;
	enum spill_kind kind;

	for (int step = 0; step < STEPS; step++, size *= 3) {
		if (size > 12 * SPILL_HEAP_SIZE)
			break;
		assert_true(spill_grow(&spill, size));
		assert_true(spill.size >= size);
		for (size_t i = 0; i < filled; i += 501)
			assert_int_equal(((uint8_t *)spill.data)[i], (uint8_t)(i / 501));
		for (size_t i = 0; i < size; i += 501)
			((uint8_t *)spill.data)[i] = (uint8_t)(i / 501);
		filled = size;
		assert_int_equal(spill.kind == SPILL_HEAP, size < SPILL_HEAP_SIZE);
	}
	assert_true(spill_grow(&spill, 1));
	kind = spill.kind;
	check_settled(&spill, filled);
	spill_deinit(&spill);
	assert_null(spill.data);
	return kind;
}

static void in_a_file(void **state)
{
	char folder[] = "/tmp/mallow_spill_XXXXXX", path[64];
	struct stat status;

	assert_non_null(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, 1);
	assert_int_equal(grow_and_check(), SPILL_FILE);
	snprintf(path, sizeof(path), "%s/mallow", folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	// Empty again: the file had no name.
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* A folder that cannot be: the next one in the list is taken. */
static void without_caches(void **state)
{
	setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
	setenv("TMPDIR", "not absolute", 1);
	assert_null(cache_folder_path(true));
	assert_int_equal(grow_and_check(), SPILL_FILE);
	unsetenv("TMPDIR");
	unsetenv("XDG_CACHE_HOME");
}

/* No file at all; and one that cannot grow any more, as on a disk that is full. */
static void limited(void **state)
{
	static const rlim_t limits[] = {0, 2 * SPILL_HEAP_SIZE};
	struct rlimit before;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit = {.rlim_cur = limits[i], .rlim_max = before.rlim_max};

		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(grow_and_check(), SPILL_PAGES);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* Tables that share what may be pages: the one that would need too many becomes a file. */
static void pages_first(void **state)
{
	const size_t size = 4 * SPILL_HEAP_SIZE;
	struct spill one = {0}, two = {0};

	spill_pages_max = 2 * size;
	assert_true(spill_grow(&one, size));
	assert_true(spill_grow(&two, SPILL_HEAP_SIZE));
	memset(two.data, 'x', two.size);
	assert_true(spill_grow(&two, size));
	assert_int_equal(one.kind, SPILL_PAGES);
	assert_int_equal(two.kind, SPILL_PAGES);
	assert_true(spill_grow(&two, size + 1));
	assert_int_equal(two.kind, SPILL_FILE);
	assert_int_equal(((char *)two.data)[SPILL_HEAP_SIZE - 1], 'x');
	// What the other one leaves can be used, by growing and anew.
	assert_true(spill_grow(&one, 2 * size));
	assert_int_equal(one.kind, SPILL_PAGES);
	spill_deinit(&two);
	assert_true(spill_grow(&two, SPILL_HEAP_SIZE));
	assert_int_equal(two.kind, SPILL_FILE);
	spill_deinit(&two);
	spill_settle(&one, size);
	assert_true(spill_grow(&two, size));
	assert_int_equal(two.kind, SPILL_PAGES);
	spill_deinit(&one);
	spill_deinit(&two);
	spill_pages_max = 13 * SPILL_HEAP_SIZE;
	assert_int_equal(grow_and_check(), SPILL_PAGES);
	spill_pages_max = 0;
}

/* One that says so is a file as soon as it is large, and stays what it is without its pages. */
static void early(void **state)
{
	struct spill spill = {.early = true};

	spill_pages_max = 100 * SPILL_HEAP_SIZE;
	assert_true(spill_grow(&spill, SPILL_HEAP_SIZE - 1));
	assert_int_equal(spill.kind, SPILL_HEAP);
	spill_give_back(&spill);
	memset(spill.data, 'x', spill.size);
	assert_true(spill_grow(&spill, SPILL_HEAP_SIZE));
	assert_int_equal(spill.kind, SPILL_FILE);
	assert_true(spill.early);
	memset((char *)spill.data + SPILL_HEAP_SIZE - 1, 'y', 1);
	spill_give_back(&spill);
	assert_int_equal(((char *)spill.data)[SPILL_HEAP_SIZE - 2], 'x');
	assert_int_equal(((char *)spill.data)[SPILL_HEAP_SIZE - 1], 'y');
	spill_deinit(&spill);
	spill_pages_max = 0;
}

static void too_large(void **state)
{
	struct spill spill = {0};

	assert_true(spill_grow(&spill, 10));
	assert_false(spill_grow(&spill, SIZE_MAX));
	assert_false(spill_grow(&spill, PTRDIFF_MAX / 2));
	assert_int_equal(spill.kind, SPILL_HEAP);
	spill_deinit(&spill);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_file), cmocka_unit_test(without_caches),
		cmocka_unit_test(limited),   cmocka_unit_test(pages_first),
		cmocka_unit_test(early),     cmocka_unit_test(too_large),
	};

	spill_pages_max = 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
