/* Which frames are own code, and which are plumbing: names as the demanglers write them. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "analysis/names/function_name.h"
#include "analysis/names/plumbing.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

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
		{"f ", "f "},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
		assert_string_equal(function_name_path(cases[i].name), cases[i].path);
}

static void frames(void **state){static const struct {struct named_frame frame;
bool plumbing;
}
cases[] =
	{
#define OF(text, named, ...) {{.function = text, .has_symbol = named, ##__VA_ARGS__}
		OF("main", true), false},
	OF("Cache::put(int)", true, .file = "/home/a/cache.cpp"), false
}
, OF("stdlib_of_mine()", true), false
}
, OF("void std::vector<A>::_M_realloc_insert<A>(A&&)", true), true
}
, OF("std::shared_ptr<Session> std::make_shared<Session>()", true), true
}
, OF("Session::Session(std::string)", true), false
}
, OF("operator new(unsigned long)", true), true
}
, OF("malloc", true), true
}
, OF("malloc_of_mine", true), false
}
, OF("qsort_r", true, .module_name = "libc.so.6"), true
}
, OF("[libc.so.6]+0x12", false, .module_name = "libc.so.6"), true
}
, OF("[libfoo.so]+0x12", false, .module_name = "libfoo.so"), false
}
,
	OF("Eigen::Matrix<double>::resize(long)", true,
	   .file = "/usr/include/eigen3/Eigen/src/Core/Matrix.h"),
	true
}
, OF("<alloc::vec::Vec<app::Row> as core::clone::Clone>::clone", true), true
}
, OF("<&mut alloc::string::String as core::fmt::Write>::write_str", true), true
}
, OF("<app::Row as core::clone::Clone>::clone", true), false
}
, OF("alloc::raw_vec::finish_grow", true), true
}
, OF("app::main::{{closure}}", true), false
}
, OF("hashbrown::raw::RawTable<T>::reserve_rehash", true), true
}
, OF("__rust_alloc", true), true
}
,
#undef OF
}
;

for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
	if (plumbing_has(plumbing, &cases[i].frame) != cases[i].plumbing)
		fail_msg("%s", cases[i].frame.function);
assert_false(plumbing_is_own(plumbing, &cases[11].frame));
assert_true(plumbing_is_own(plumbing, &cases[0].frame));
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
		cmocka_unit_test_setup_teardown(of_a_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
