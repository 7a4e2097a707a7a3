/* Readable names, and names made to exhaust time, stack or memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/demangle.h"
#include "symbols/symbol_names.h"

static const char *const names[][2] = {
	{"main", "main"},
	{"", ""},
	{"_", "_"},
	{"_start", "_start"},
	{"_Z", "_Z"},
	{"_Znot_a_name", "_Znot_a_name"},
	{"i", "i"}, // a type for the demangler, a function for us
	{"_Z1fi", "f(int)"},
	{"_Z1fi.part.0", "f(int) [.part.0]"},
	{"_Z1fi.cold", "f(int) [.cold]"},
	{"_Z1fv.isra.0.cold", "f() [.isra.0] [.cold]"},
	{"_Z1fv.constprop.12", "f() [.constprop.12]"},
	{"_Z1fv.llvm.1234567890", "f()"},
	{"plain.llvm.123", "plain"},
	{"plain.part.0", "plain.part.0"},
	{".llvm.7", ".llvm.7"},
	{"_Z1gNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "g(std::string)"},
	{"_Z1gSs", "g(std::string)"},
	{"_Z1gSt4lessINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE",
	 "g(std::less<std::string>)"},
	{"_Z1gSt4lessIS_INSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEE",
	 "g(std::less<std::less<std::string>>)"},
	{"_Z1gNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE", "g(std::string)"},
	{"_Z1gRSt6vectorIS_IiSaIiEESaIS1_EE",
	 "g(std::vector<std::vector<int, std::allocator<int>>, "
	 "std::allocator<std::vector<int, std::allocator<int>>>>&)"},
	{"_ZNSt7__cxx114listIiSaIiEE4sortEv", "std::list<int, std::allocator<int>>::sort()"},
	{"_ZgtRK1AS1_", "operator>(A const&, A const&)"},
	{"_ZrsR1AS_", "operator>>(A&, A)"},
	{"_ZNK1AptEv", "A::operator->() const"},
	{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
	{"_ZN4core3fmt5write17h0123456789abcdefE.llvm.42", "core::fmt::write"},
	{"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str17h"
	 "0123456789abcdefE",
	 "<alloc::string::String as core::fmt::Write>::write_str"},
	{"_RNvC6_123foo3bar", "123foo::bar"},
	{"_RNvMC0INtC8arrayvec8ArrayVecpE3new", "<arrayvec::ArrayVec<_>>::new"},
	{"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"},
};

static void check(const char *name, const char *expected)
{
	struct buf buf;

	buf_init(&buf);
	demangle(name, &buf);
	assert_string_equal(buf_string(&buf), expected);
	buf_deinit(&buf);
}

static void known_names(void **unused)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(names[i][0], names[i][1]);
}

/* prefix, unit until about size characters, suffix: demangled or not, but soon and not large. */
static void check_hostile(const char *prefix, const char *unit, const char *suffix, size_t size)
{
	char *name = calloc(1, size + strlen(prefix) + strlen(unit) + strlen(suffix) + 1);
	struct buf buf;

	strcpy(name, prefix);
	for (char *end = name + strlen(name); end < name + size; end = stpcpy(end, unit))
		;
	strcat(name, suffix);
	buf_init(&buf);
	demangle(name, &buf);
	assert_non_null(buf_string(&buf));
	assert_true(buf.size <= (size < 8192 ? 256u << 10 : size + 64));
	buf_deinit(&buf);
	free(name);
}

static void hostile_names(void **unused)
{
	static const char *const units[] = {
		"P",  "K",   "A_", "M1a", "FP",  "1aI",  "N1aI", "X",  "cv",   "L_Z1f", "T_",
		"S_", "PF",  "C",  "ng",  "DpP", "Dv4_", "J",    "I",  "E",    ".a",    ".1",
		"F",  "INv", "B_", "TB_", "S",   "R",    "Nv",   "\n", "\xff", "$LT$",  "..",
	};
	static const char *const prefixes[] = {"_Z1f",       "_ZN", "_Z1fIiEDT",
					       "_RINvC1a1b", "_R",  "__Z"};
	static const size_t sizes[] = {100, 1000, 8000, 100000};

	alarm(60);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		for (size_t j = 0; j < sizeof(prefixes) / sizeof(*prefixes); j++) {
			for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
				check_hostile(prefixes[j], units[i], "i", sizes[k]);
		}
	}
	alarm(0);
}

/* Each parameter is a pair of the one before: the text doubles with every four characters. */
static void doubling_names(void **unused)
{
	char name[512] = "_Z1f1AIiiE", *end = name + strlen(name);
	struct buf buf;

	alarm(20);
	for (int i = 0; i < 36; i++) {
		char number = i < 10 ? (char)('0' + i) : (char)('A' + i - 10);

		end += sprintf(end, i ? "S_IS%c_S%c_E" : "S_IS0_S0_E", number, number);
	}
	buf_init(&buf);
	demangle(name, &buf);
	assert_string_equal(buf_string(&buf), name);
	buf_deinit(&buf);
	alarm(0);
}

static void names_without_clones(void **unused)
{
	static const char *const cases[][2] = {
		{"f", "f"},
		{"", ""},
		{"f.isra.0", "f"},
		{"f.constprop.0.isra.12", "f"},
		{"f.part.0.cold", "f"},
		{"f.cold", "f"},
		{"f(int) [.part.0]", "f(int)"},
		{"f(int) [.isra.0] [.cold]", "f(int)"},
		{"f(int [3])", "f(int [3])"},
		{"main.run", "main.run"}, // Go
		{"main.cold.run", "main.cold.run"},
		{"x.isration.0", "x.isration.0"},
		{".isra.0", ".isra.0"},
		{"]", "]"},
		{"a.cold]", "a.cold]"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(demangle_without_clone(cases[i][0]), strlen(cases[i][1]));
}

static void source_paths(void **unused)
{
	static const char *const cases[][3] = {
		{"/build/out", "../src/a.c", "/build/src/a.c"},
		{"/build", "/usr/include/x.h", "/usr/include/x.h"},
		{"/build", "a.c", "/build/a.c"},
		{"/build/", "./a//b/../a.c", "/build/a/a.c"},
		{"./io", "../io/ftw.c", "io/ftw.c"},
		{"./io", "./io/ftw.c", "io/ftw.c"},
		{"/", "../../a.c", "/../../a.c"},
		{"x", "../../a.c", "../a.c"},
		{NULL, "../a.c", "../a.c"},
		{"", "a.c", "a.c"},
		{NULL, "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf buf;

		buf_init(&buf);
		source_path(cases[i][0], cases[i][1], &buf);
		assert_string_equal(buf_string(&buf), cases[i][2]);
		buf_deinit(&buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_names),    cmocka_unit_test(hostile_names),
		cmocka_unit_test(doubling_names), cmocka_unit_test(names_without_clones),
		cmocka_unit_test(source_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
