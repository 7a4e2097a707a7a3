/* The language of suppressions: which text a pattern matches, which lines are some. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "analysis/leaks/suppressions.h"
#include "analysis/names/pattern.h"
#include "base/compiler.h"

/* What the sanitizers of gcc 12 answer, asked of the function that they all have for it. */
static void patterns(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{"", "", false},
		{"", "a", true},
		{"a", "", false},
		{"a", NULL, false},
		{"bc", "abcd", true},
		{"bd", "abcd", false},
		{"^ab", "abcd", true},
		{"^bc", "abcd", false},
		{"cd$", "abcd", true},
		{"bc$", "abcd", false},
		{"^abcd$", "abcd", true},
		{"^abcd$", "abcde", false},
		{"^abc$", "xabc", false},
		{"a*d", "abcd", true},
		{"d*a", "abcd", false},
		{"^a*d$", "abcd", true},
		{"^b*d$", "abcd", false},
		{"*", "a", true},
		{"**", "a", true},
		{"*$", "a", true},
		{"^*$", "a", true},
		{"^*d", "abcd", true},
		{"a*", "abcd", true},
		{"abcd*", "abcd", true},
		{"abcd*$", "abcd", true},
		{"abcd*d", "abcd", false},
		{"^", "a", true},
		{"$", "a", false},
		{"^$", "a", false},
		{"d$abc", "abcd", true}, // what follows the end is nothing
		{"b$", "abb", false},    // each piece is where it comes first
		{"a*bb$", "abbb", false},
		{"^ab", "aab", false},
		{"a^b", "a^b", true},
		{"*ab", "xab", true},
		{"std::vector<*>::push_back", "std::vector<int>::push_back(int)", true},
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
		if (pattern_matches(cases[i].pattern, cases[i].text) != cases[i].matches)
			fail_msg("'%s' in '%s'", cases[i].pattern, cases[i].text);
}

#define ADD(suppressions, text) suppressions_add(suppressions, "known", text, sizeof(text) - 1)

static void lines(void **state)
{
	struct suppressions *suppressions;
	const struct suppression *list;
	size_t count;

	assert_ok(suppressions_create(&suppressions));
	assert_ok(ADD(suppressions, ""));
	assert_ok(
		ADD(suppressions, "\n  \t\r\n# leak:x\n  #\n leak:one \r\nleak:two three\nleak:"));
	list = suppressions_list(suppressions, &count);
	assert_int_equal(count, 3);
	assert_string_equal(list[0].pattern, "one");
	assert_string_equal(list[0].origin, "known");
	assert_int_equal(list[0].line, 5);
	assert_string_equal(list[1].pattern, "two three");
	assert_string_equal(list[2].pattern, "");
	assert_int_equal(list[2].line, 7);

	/* What is wrong leaves nothing behind. */
	assert_err(ADD(suppressions, "leak:four\nrace:five\n"),
		   "known: line 2, 'race:five', is not leak:PATTERN");
	assert_err(ADD(suppressions, "leak"), "known: line 1, 'leak', is not");
	assert_err(ADD(suppressions, "leak:a\0b"), "known: line 1 has a byte 0");
	suppressions_list(suppressions, &count);
	assert_int_equal(count, 3);
	suppressions_destroy(suppressions);
	suppressions_destroy(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
