/* What is left of mappings after munmap and mremap have cut them. */
#include "ebpf/mapped_ranges.h"

#include "check.h"

#define PAGE 4096ull

/* The ranges as text: "start-end:size" in pages and bytes. */
static void assert_ranges(const struct mapped_ranges *ranges, const uint64_t (*wanted)[3],
			  size_t count)
{
	assert_int_equal(ranges->list.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(ranges->list.items[i].start, wanted[i][0] * PAGE);
		assert_int_equal(ranges->list.items[i].end, wanted[i][1] * PAGE);
		assert_int_equal(ranges->list.items[i].size, wanted[i][2]);
	}
}

static void add(struct mapped_ranges *ranges, uint64_t page, uint64_t size)
{
	assert_null(mapped_ranges_add(ranges, page * PAGE, size, 1, 2, 3));
}

static void cut(struct mapped_ranges *ranges, uint64_t page, uint64_t size, uint32_t tid)
{
	assert_null(mapped_ranges_remove(ranges, page * PAGE, size, tid));
}

static void test_parts(void **state)
{
	struct mapped_ranges ranges = {0};

	add(&ranges, 100, 16 * PAGE);
	cut(&ranges, 104, 4 * PAGE, 1);
	assert_ranges(&ranges, (const uint64_t[][3]){{100, 104, 4 * PAGE}, {108, 116, 8 * PAGE}},
		      2);
	cut(&ranges, 90, 12 * PAGE, 1);
	assert_ranges(&ranges, (const uint64_t[][3]){{102, 104, 2 * PAGE}, {108, 116, 8 * PAGE}},
		      2);
	cut(&ranges, 115, 100 * PAGE, 1);
	assert_ranges(&ranges, (const uint64_t[][3]){{102, 104, 2 * PAGE}, {108, 115, 7 * PAGE}},
		      2);
	cut(&ranges, 0, 1000 * PAGE, 1);
	assert_ranges(&ranges, NULL, 0);
	mapped_ranges_deinit(&ranges);
}

/* The last page is only partly asked for, and counts as such. */
static void test_sizes_are_as_asked_for(void **state)
{
	struct mapped_ranges ranges = {0};

	add(&ranges, 10, 2 * PAGE + 5);
	assert_ranges(&ranges, (const uint64_t[][3]){{10, 13, 2 * PAGE + 5}}, 1);
	cut(&ranges, 11, PAGE, 1);
	assert_ranges(&ranges, (const uint64_t[][3]){{10, 11, PAGE}, {12, 13, 5}}, 2);
	cut(&ranges, 12, 1, 1);
	assert_ranges(&ranges, (const uint64_t[][3]){{10, 11, PAGE}}, 1);
	mapped_ranges_deinit(&ranges);
}

static void test_a_new_mapping_replaces(void **state)
{
	struct mapped_ranges ranges = {0};

	add(&ranges, 10, 10 * PAGE);
	add(&ranges, 12, 2 * PAGE);
	assert_ranges(
		&ranges,
		(const uint64_t[][3]){{10, 12, 2 * PAGE}, {12, 14, 2 * PAGE}, {14, 20, 6 * PAGE}},
		3);
	mapped_ranges_deinit(&ranges);
}

/* Only what that thread's last call took out comes back. */
static void test_what_failed_comes_back(void **state)
{
	struct mapped_ranges ranges = {0};

	add(&ranges, 10, 4 * PAGE);
	add(&ranges, 20, 4 * PAGE);
	cut(&ranges, 10, 4 * PAGE, 1);
	cut(&ranges, 20, 2 * PAGE, 2);
	assert_null(mapped_ranges_restore(&ranges, 1));
	assert_ranges(&ranges, (const uint64_t[][3]){{10, 14, 4 * PAGE}, {22, 24, 2 * PAGE}}, 2);
	cut(&ranges, 10, PAGE, 1);
	cut(&ranges, 11, PAGE, 1);
	assert_null(mapped_ranges_restore(&ranges, 1));
	assert_ranges(&ranges,
		      (const uint64_t[][3]){{11, 12, PAGE}, {12, 14, 2 * PAGE}, {22, 24, 2 * PAGE}},
		      3);
	assert_null(mapped_ranges_restore(&ranges, 1));
	assert_int_equal(ranges.list.count, 3);
	mapped_ranges_deinit(&ranges);
}

static void test_sizes_beyond_all_memory(void **state)
{
	struct mapped_ranges ranges = {0};

	add(&ranges, 10, PAGE);
	cut(&ranges, 10, UINT64_MAX - 5, 1);
	assert_int_equal(ranges.list.count, 1);
	mapped_ranges_deinit(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_sizes_are_as_asked_for),
		cmocka_unit_test(test_a_new_mapping_replaces),
		cmocka_unit_test(test_what_failed_comes_back),
		cmocka_unit_test(test_sizes_beyond_all_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
