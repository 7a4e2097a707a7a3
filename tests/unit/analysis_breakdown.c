/* What breakdowns are made by: which functions are the allocator's own, and classes of numbers. */
#include "check.h"

#include <stdio.h>

#include "analysis/breakdown/allocating.h"
#include "analysis/breakdown/scale.h"
#include "base/compiler.h"

static void allocating(void **state)
{
	static const char *const yes[] = {
		"malloc",
		"__libc_malloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"std::allocator<int>::allocate(unsigned long)",
		"std::allocator_traits<std::allocator<a::b<c>>>::allocate(std::allocator<a::b<c>>&, "
		"unsigned long)",
		"std::__new_allocator<Place>::allocate(unsigned long, void const*)",
		"__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
		"std::_Vector_base<Place, std::allocator<Place>>::_M_allocate(unsigned long)",
		"std::__detail::_Hash_node<int, false>* std::__detail::_Hashtable_alloc<std::"
		"allocator<x>>::_M_allocate_node<int const&>(int const&)",
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocating),
		cmocka_unit_test(classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
