/* Names of functions for people: short, fitted into columns, and no two the same. */
#include "check.h"

#include "analysis/names/short_name.h"
#include "base/compiler.h"
#include "report/names/distinct_names.h"
#include "report/names/frame_name.h"

static void short_names(void **state)
{
	static const struct {
		const char *name, *usual, *first;
	} cases[] = {
#define SHORT_NAME(name, usual, first) {name, usual, first},
#include "short_names.def"
#undef SHORT_NAME
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct buf usual = BUF_EMPTY, first = BUF_EMPTY;

		short_name_put(&usual, cases[i].name, SHORT_NAME_USUAL);
		short_name_put(&first, cases[i].name, SHORT_NAME_FIRST);
		assert_string_equal(buf_string(&usual), cases[i].usual);
		assert_string_equal(buf_string(&first),
				    cases[i].first ? cases[i].first : cases[i].usual);
		buf_deinit(&usual);
		buf_deinit(&first);
	}
}

/* Lists within lists, more than there may ever be: neither the stack nor time runs out. */
static void deep_names(void **state)
{
	struct buf name = BUF_EMPTY, text = BUF_EMPTY;

	for (int i = 0; i < 20000; i++)
		buf_text(&name, "a<");
	buf_repeat(&name, '>', 20000);
	short_name_put(&text, buf_string(&name), SHORT_NAME_USUAL);
	assert_in_range(text.size, 24, 200);
	buf_deinit(&name);
	buf_deinit(&text);
}

static void check_name(struct distinct_names *names, const char *name, size_t width,
		       const char *expected)
{
	const struct named_frame frame = {.function = name, .raw_function = "_Z"};
	const struct style style = {.names = names};
	struct buf buf = BUF_EMPTY;

	frame_name_put(&buf, &style, &frame, width);
	assert_string_equal(buf_string(&buf), expected);
	if (width)
		assert_true(style_columns(buf.data, buf.size) <= width);
	buf_deinit(&buf);
}

static void fitted(void **state)
{
	check_name(NULL, "f(int, char)", 0, "f");
	check_name(NULL, "void a<int, 5>::f<char>(int)", 18, "a<int, 5>::f<char>");
	check_name(NULL, "void a<long, 55>::f<char>(int)", 19, "a<long, 55>::f");
	check_name(NULL, "void a<long, 55>::f<char>(int)", 13, "a<long, …>::f");
	check_name(NULL, "void a<int, 5>::f<char>(int)", 9, "a<…>::f");
	check_name(NULL, "shop::Cache::put(int)", 12, "Cache::put");
	check_name(NULL, "a::(anonymous namespace)::f(int)", 8, "f");
	check_name(NULL, "std::make_shared<shop::Page>()", 17, "make_shared<Page>");
	check_name(NULL, "std::map<a::b, c>::emplace<d::e&, f>(d::e&)", 20, "map<b, c>::emplace");
	check_name(NULL, "std::map<a::b, c>::emplace<d::e&, f>(d::e&)", 16, "map<…>::emplace");
	check_name(NULL, "broken<<<(", 6, "…n<<<(");
	check_name(NULL, "\xff\x1b[31m\xc3\xa4", 0, "\\xff\\x1b[31mä");
	check_name(NULL, "ääääääää", 4, "…äää");
	check_name(NULL, "anything", 1, "…");
}

/* A name of code made at run time may have blanks and brackets that mean nothing. */
static void not_demangled(void **state)
{
	const struct named_frame frame = {
		.function = "LazyCompile:~f (x) /a.js:1",
		.raw_function = "LazyCompile:~f (x) /a.js:1",
	};
	struct buf buf = BUF_EMPTY;

	frame_name_put(&buf, &(struct style){0}, &frame, 0);
	assert_string_equal(buf_string(&buf), frame.function);
	buf_deinit(&buf);
}

static void distinct(void **state)
{
	struct distinct_names names = {0};

	check_name(&names, "f(int)", 0, "f");
	check_name(&names, "f(char)", 0, "f(char)");
	check_name(&names, "f(int)", 0, "f");
	check_name(&names, "f", 0, "f #2");
	check_name(&names, "abcdefgh::f()", 8, "…efgh::f");
	check_name(&names, "xbcdefgh::f()", 8, "xbcd…::f");
	check_name(&names, "ybcdefgh::f()", 8, "ybcd…::f");
	check_name(&names, "ybcdefghi::f()", 8, "…fghi::f");
	check_name(&names, "ybcdzzghi::f()", 8, "…zghi::f");
	check_name(&names, "ybcdqefgh::f()", 8, "ybcd…f()");
	check_name(&names, "ybcdrefgh::f()", 8, "…h::f #2");
	distinct_names_deinit(&names);
}

/* Which calls tell a type that somebody chose. */
static void typed(void **state)
{
	static const struct {
		const char *symbol, *name;
		bool wanted;
	} cases[] = {
		{"_Z1", "std::shared_ptr<Task> std::make_shared<Task>()", true},
		{"_Z1", "std::vector<T>::push_back(T const&)", true},
		{"_Z1", "std::ostream::operator<<(int)", false},
		{"_Z1", "Log::operator<<(std::vector<int>)", false},
		{"_Z1", "void std::operator<< <char>(char)", true},
		{"_Z1", "Node::operator<(Node const&)", false},
		{"_Z1", "std::string::assign(unsigned long, char)", false},
		{"_ZN5alloc3vecE17h0123456789abcdefE", "alloc::vec::Vec<T, A>::push", false},
		{"_RNv1", "<alloc::vec::Vec<u8>>::push", true},
		{"plain", "plain", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct named_frame frame = {.function = cases[i].name,
					    .raw_function = cases[i].symbol};

		if (own_name_has_type(&frame) != cases[i].wanted)
			fail_msg("%s", cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_names), cmocka_unit_test(deep_names),
		cmocka_unit_test(fitted),      cmocka_unit_test(not_demangled),
		cmocka_unit_test(distinct),    cmocka_unit_test(typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
