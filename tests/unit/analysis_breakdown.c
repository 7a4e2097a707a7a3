/*
 * What breakdowns are made by: which functions are the allocator's own, and classes of numbers; and
 * what they, and suppressions, come to where memory fails.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>

#include "analysis/names/allocating.h"
#include "analysis/leaks/suppressed.h"
#include "analysis/recording_memory.h"
#include "analysis/sums/histogram.h"
#include "base/compiler.h"
#include "failing_malloc.h"
#include "hosted/cleanup.h"
#include "report/views/breakdown_view.h"
#include "sample_recordings.h"

static void allocating(void **state)
{
	static const char *const yes[] = {
		"malloc",
		"__libc_malloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"llvm::User::operator new(unsigned long, unsigned int)",
		"tree<int>::node::operator new[](unsigned long)",
		"std::allocator<int>::allocate(unsigned long)",
		"std::allocator_traits<std::allocator<a::b<c>>>::allocate(d<a>&, unsigned long)",
		"std::__new_allocator<Place>::allocate(unsigned long, void const*)",
		"__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
		"std::_Vector_base<Place, std::allocator<Place>>::_M_allocate(unsigned long)",
		"a::b<c>* std::__detail::_Hashtable_alloc<d>::_M_allocate_node<int>(int const&)",
		"std::__allocated_ptr<x> std::__allocate_guarded<x>(x&)",
		"std::allocator<int>::allocate",
		"std::__1::allocator<int>::allocate(unsigned long)",
		"__rust_alloc",
		"__rust_alloc_zeroed",
		"alloc::alloc::exchange_malloc",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
	};
	static const char *const no[] = {
		"",
		"main",
		"my_malloc",
		"mallocate",
		"operator newish(int)",
		"mine::operator newish(int)",
		"mine::operator new_thing() const",
		"allocate(int)",
		"pool::allocate(int)",
		"mine::allocate(std::allocator<int>)",
		"std::allocator<int>::deallocate(int*, unsigned long)",
		"std::vector<int, std::allocator<int>>::push_back(int&&)",
		"void std::vector<allocate>::reserve(unsigned long)",
		"std::function<void (std::allocator<int>::allocate)>::operator()() const",
		"alloc::vec::Vec<T>::push",
		"<",
		">>",
		"std::",
	};

	for (size_t i = 0; i < ARRAY_COUNT(yes); i++)
		if (!allocating_function(yes[i]))
			fail_msg("'%s' is not found to allocate", yes[i]);
	for (size_t i = 0; i < ARRAY_COUNT(no); i++)
		if (allocating_function(no[i]))
			fail_msg("'%s' is found to allocate", no[i]);
}

/* Every number is in one class, and classes follow each other. */
static void check_scale(const struct scale *scale)
{
	assert_in_range(scale->count, 1, SCALE_CLASSES);
	assert_int_equal(scale->highest[scale->count - 1], UINT64_MAX);
	for (size_t i = 0; i < scale->count; i++) {
		uint64_t lowest = scale_lowest(scale, i);

		assert_true(lowest <= scale->highest[i]);
		assert_int_equal(scale_class(scale, lowest), i);
		assert_int_equal(scale_class(scale, scale->highest[i]), i);
		assert_int_equal(scale_class(scale, lowest / 2 + scale->highest[i] / 2 +
							    (lowest & scale->highest[i] & 1)),
				 i);
	}
}

static void classes(void **state)
{
	struct scale scale;

	scale_of_sizes(&scale);
	check_scale(&scale);
	assert_int_equal(scale.highest[scale_class(&scale, 0)], 0);
	assert_int_equal(scale.highest[scale_class(&scale, 3)], 4);
	assert_int_equal(scale.highest[scale_class(&scale, 4096)], 4096);
	assert_int_equal(scale.highest[scale_class(&scale, 4097)], 8192);
	scale_of_times(&scale);
	check_scale(&scale);
	assert_int_equal(scale.highest[scale_class(&scale, 0)], 1);
	assert_int_equal(scale.highest[scale_class(&scale, 513)], 1000);
	assert_int_equal(scale.highest[scale_class(&scale, 1000)], 1000);
	assert_int_equal(scale.highest[scale_class(&scale, 1001)], 2000);
	assert_int_equal(scale.highest[scale_class(&scale, 512000001)], 1000000000);
	assert_int_equal(scale.highest[scale_class(&scale, 5000000000)], 8000000000);
}

/* All of it, of one recording. */
static struct err *make_all(const struct recording *recording, struct symbolized *symbolized,
			    const struct filter *filter)
{
	static const char text[] = "leak:nothing\nleak:*\n";
	cleanup(filter_match_deinit) struct filter_match match = {0};
	cleanup(suppressed_deinit) struct suppressed suppressed = {0};
	cleanup(suppressions_destroy_at) struct suppressions *suppressions = NULL;
	static const enum block_groups_by keys[] = {
		BLOCK_GROUPS_FUNCTION, BLOCK_GROUPS_FRAME,  BLOCK_GROUPS_FILE, BLOCK_GROUPS_LINE,
		BLOCK_GROUPS_MODULE,   BLOCK_GROUPS_THREAD, BLOCK_GROUPS_SIZE, BLOCK_GROUPS_MARK};
	struct report_subject subject = {
		.symbolized = symbolized, .suppressed = &suppressed, .blocks = recording};
	struct histogram histogram;
	struct err *err = filter_match(filter, recording, symbolized, &match);

	if (!err)
		err = suppressions_create(&suppressions);
	if (!err)
		err = suppressions_add(suppressions, "x", text, sizeof(text) - 1);
	if (!err)
		err = suppressed_create(suppressions, recording, symbolized, &suppressed);
	if (err)
		return err;
	subject.recording = suppressed.recording;
	subject.bits = match.words;
	for (size_t i = 0; !err && i < ARRAY_COUNT(keys); i++) {
		struct breakdown_view view = {
			.by = keys[i], .metric = METRIC_TOTAL, .inclusive = i % 2};

		err = breakdown_view_make(&view, &subject);
		breakdown_view_deinit(&view);
	}
	return err ? err
		   : histogram_create(HISTOGRAM_LIFETIME, suppressed.recording, recording,
				      match.words, &histogram);
}

/* Allocation n fails, for every n: an error each time, and no leak. */
static void no_memory(void **state)
{
	struct recording *recording = NULL;
	struct symbolized *symbolized = NULL;
	struct filter *filter = NULL;
	struct trace_writer writer;
	struct err *err;
	long n = 0;

	sample_recordings[1].write(&writer);
	assert_ok(
		recording_open_memory("x", writer.data, writer.size, RECORDING_BLOCKS, &recording));
	trace_writer_deinit(&writer);
	assert_ok(symbolized_create(recording, NULL, &symbolized));
	assert_ok(filter_create(&filter));
	for (;; n++) {
		failing_malloc_countdown = n;
		err = make_all(recording, symbolized, filter);
		failing_malloc_countdown = -1;
		if (!err)
			break;
		assert_int_equal(err_number(err), ENOMEM);
		err_destroy(err);
	}
	assert_true(n > 40);
	filter_destroy(filter);
	symbolized_destroy(symbolized);
	recording_close(recording);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocating),
		cmocka_unit_test(classes),
		cmocka_unit_test(no_memory),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
