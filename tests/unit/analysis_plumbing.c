/* Which frames are own code, and which are plumbing: names as the demanglers write them. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "analysis/names/function_name.h"
#include "analysis/names/plumbing.h"
#include "analysis/names/symbolized.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

#define RUST .raw_function = "_ZN1f17h0123456789abcdefE.llvm.7"

static struct plumbing *plumbing;

static int setup(void **state)
{
	err_destroy(plumbing_create(&plumbing));
	return plumbing ? 0 : -1;
}

static int teardown(void **state)
{
	plumbing_destroy(plumbing);
	return 0;
}

static void paths(void **state)
{
	static const struct {
		const char *name, *path;
	} cases[] = {
		{"main", "main"},
		{"Cache::put(int)", "Cache::put(int)"},
		{"void std::swap<int>(int&, int&)", "std::swap<int>(int&, int&)"},
		{"std::unique_ptr<A, std::default_delete<A> > std::make_unique<A>()",
		 "std::make_unique<A>()"},
		{"operator new(unsigned long)", "operator new(unsigned long)"},
		{"bool std::operator==<char>(A const&, B const&)",
		 "std::operator==<char>(A const&, B const&)"},
		{"Text::operator std::string() const", "Text::operator std::string() const"},
		{"(anonymous namespace)::grow(int)", "(anonymous namespace)::grow(int)"},
		{"void (anonymous namespace)::grow<int>(int)",
		 "(anonymous namespace)::grow<int>(int)"},
		{"<alloc::vec::Vec<T> as core::clone::Clone>::clone",
		 "<alloc::vec::Vec<T> as core::clone::Clone>::clone"},
		{"decltype(auto) std::visit<A>(A&&)", "std::visit<A>(A&&)"},
		{"decltype ((f)(g)) std::invoke<A>(A&&)", "std::invoke<A>(A&&)"},
		{"main::{lambda(int)#1} std::for_each<A>(A)", "std::for_each<A>(A)"},
		{"main::{lambda<typename $T0>($T0)#1} std::for_each<A>(A)", "std::for_each<A>(A)"},
		{"main::'lambda'(int) std::for_each<A>(A)", "std::for_each<A>(A)"},
		{"main::{lambda(int)#1}::operator()(int) const",
		 "main::{lambda(int)#1}::operator()(int) const"},
		{"main::{unnamed type#1}::grow(int)", "main::{unnamed type#1}::grow(int)"},
		{"app::{{closure}}::{closure#0}", "app::{{closure}}::{closure#0}"},
		{"f}{ g", "g"},
		{"std::rt::lang_start [.cold]", "std::rt::lang_start [.cold]"},
		{"void std::f<int>(int) [.part.0]", "std::f<int>(int) [.part.0]"},
		{"f ", "f "},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
		assert_string_equal(function_name_path(cases[i].name), cases[i].path);
}

static void frames(void **state)
{
	static const struct {
		bool plumbing;
		struct named_frame frame;
	} cases[] = {
		{false, {.function = "main"}},
		{false, {.function = "Cache::put(int)", .file = "/home/a/cache.cpp"}},
		{false, {.function = "stdlib_of_mine()"}},
		{true, {.function = "void std::vector<A>::_M_realloc_insert<A>(A&&)"}},
		{true, {.function = "std::shared_ptr<Session> std::make_shared<Session>()"}},
		{false, {.function = "Session::Session(std::string)"}},
		{true, {.function = "operator new(unsigned long)"}},
		{false, {.function = "Pool::operator new(unsigned long)"}},
		{true, {.function = "malloc"}},
		{false, {.function = "malloc_of_mine"}},
		{true, {.function = "xmallocz"}},
		{true, {.function = "PyObject_Malloc"}},
		{true, {.function = "_PyObject_Malloc"}},
		{true, {.function = "_PyMem_RawMalloc"}},
		{false, {.function = "PyObject_Malloced"}},
		{true, {.function = "_mi_page_malloc"}},
		{false, {.function = "mi_caja_abrir"}},
		{true, {.function = "qsort_r", .module_name = "libc.so.6"}},
		{false, {.function = "f", .module_name = "libcurl.so.4"}},
		{true,
		 {.function = "Eigen::Matrix<double>::resize(long)",
		  .file = "/usr/include/eigen3/Eigen/src/Core/Matrix.h"}},
		// Rust's, by their mangled names: a C++ program may have a core:: of its own.
		{true,
		 {.function = "<alloc::vec::Vec<app::Row> as core::clone::Clone>::clone", RUST}},
		{true, {.function = "<&mut alloc::string::String as core::fmt::Write>::f", RUST}},
		{false, {.function = "<app::Row as core::clone::Clone>::clone", RUST}},
		{true, {.function = "alloc::raw_vec::finish_grow", RUST}},
		{true, {.function = "hashbrown::raw::RawTable<T>::reserve_rehash", RUST}},
		{false, {.function = "app::main::{{closure}}", RUST}},
		{true,
		 {.function = "core::fmt::write", .raw_function = "_RNvNtCs_4core3fmt5write"}},
		{false,
		 {.function = "core::Engine::grow()", .raw_function = "_ZN4core6Engine4growEv"}},
		{false, {.function = "alloc::Pool::f()", .raw_function = "_ZN5alloc4Pool1fE17hv"}},
		{true, {.function = "__rust_alloc"}},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct named_frame frame = cases[i].frame;

		frame.has_symbol = true;
		if (!frame.raw_function)
			frame.raw_function = "_Z";
		if (plumbing_has(plumbing, &frame) != cases[i].plumbing ||
		    plumbing_has(NULL, &frame) != cases[i].plumbing)
			fail_msg("%s", frame.function);
	}
}

static void without_a_name(void **state)
{
	static const struct named_frame of_libc = {.function = "[libc.so.6]+0x12",
						   .module_name = "libc.so.6"};
	static const struct named_frame other = {.function = "std::[libfoo.so]+0x12",
						 .module_name = "libfoo.so"};

	assert_true(plumbing_has(plumbing, &of_libc));
	assert_false(plumbing_has(plumbing, &other));
	assert_false(named_frame_is_own(&of_libc) || named_frame_is_own(&other));
}

static void of_a_file(void **state)
{
	static const char text[] =
		"# ours\n\n  function:^pool_\nmodule:^libours.so\nfile:/vendor/\n";
	static const char wrong[] = "function:^more_\nfuncion:x\n";
	struct named_frame pool = {.function = "pool_get", .has_symbol = true};
	struct named_frame vendor = {
		.function = "f", .has_symbol = true, .file = "/src/vendor/f.c"};
	struct named_frame ours = {
		.function = "f", .has_symbol = true, .module_name = "libours.so.1"};
	struct named_frame more = {.function = "more_of", .has_symbol = true};
	struct err *err;

	assert_false(plumbing_has(plumbing, &pool));
	assert_null(plumbing_add(plumbing, "p.txt", text, strlen(text)));
	assert_true(plumbing_has(plumbing, &pool) && plumbing_has(plumbing, &vendor) &&
		    plumbing_has(plumbing, &ours));
	err = plumbing_add(plumbing, "p.txt", wrong, strlen(wrong));
	assert_non_null(err);
	assert_non_null(
		strstr(err_message(err), "p.txt: line 2, 'funcion:x', is not module:PATTERN"));
	err_destroy(err);
	assert_false(plumbing_has(plumbing, &more));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test_setup_teardown(frames, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_name, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
