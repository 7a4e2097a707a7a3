/* ARM's unwind tables (cfi/exidx.h). */
#include "cfi/exidx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE  0x10000u
#define TABLE (BASE + 0x100)
#define EXTAB (BASE + 0x200)
#define FP    7
#define R11   11
#define SP    13
#define LR    14

static uint32_t words[256];
static struct eh_image image = {(const uint8_t *)words, sizeof(words), BASE};
static struct exidx_table table = {&image, TABLE, 0};

static uint32_t prel31(uint32_t place, uint32_t target)
{
	return (target - place) & 0x7fffffff;
}

static void set_entry(size_t i, uint32_t start, uint32_t second)
{
	words[(TABLE - BASE) / 4 + i * 2] = prel31(TABLE + (uint32_t)i * 8, start);
	words[(TABLE - BASE) / 4 + i * 2 + 1] = second;
	table.size = (i + 1) * 8;
}

/* One function, at BASE, with these words in .ARM.extab. */
static enum exidx_answer rule_of(const uint32_t *extab, size_t size, struct unwind_rule *ret)
{
	struct exidx_function function;
	enum exidx_answer answer;

	memcpy(words + (EXTAB - BASE) / 4, extab, size);
	set_entry(0, BASE, prel31(TABLE + 4, EXTAB));
	answer = exidx_find(&table, BASE + 2, &function);
	return answer == EXIDX_FOUND ? exidx_rule(&function, FP, ret) : answer;
}

#define RULE_OF(ret, ...)                                                                          \
	rule_of((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}), ret)

static void assert_saved(const struct rule_place *place, int32_t offset, int32_t expected)
{
	assert_int_equal(place->how, RULE_AT);
	assert_int_equal(place->base, RULE_BASE_CFA);
	assert_int_equal(offset, expected);
}

static void test_search(void **data)
{
	struct exidx_function function;
	struct unwind_rule rule;

	set_entry(0, BASE + 0x10, 1);
	set_entry(1, BASE + 0x20, 0x80b0b0b0);
	set_entry(2, BASE + 0x31, 0x80a8b0b0); // pop {r4, lr}
	set_entry(3, BASE + 0x40, 1);
	assert_int_equal(exidx_find(&table, BASE + 0xf, &function), EXIDX_NONE);
	assert_int_equal(exidx_find(&table, BASE + 0x1f, &function), EXIDX_CANT_UNWIND);
	assert_int_equal(function.start, BASE + 0x10);
	assert_int_equal(exidx_find(&table, BASE + 0x20, &function), EXIDX_FOUND);
	assert_int_equal(exidx_rule(&function, FP, &rule), EXIDX_FOUND);
	assert_int_equal(rule.cfa_base, SP);
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.ra.how, RULE_VALUE);
	assert_int_equal(rule.ra.base, LR);
	assert_int_equal(rule.fp.how, RULE_SAME);
	assert_int_equal(exidx_find(&table, BASE + 0x30, &function), EXIDX_FOUND);
	assert_int_equal(function.start, BASE + 0x30);
	assert_int_equal(exidx_rule(&function, FP, &rule), EXIDX_FOUND);
	assert_int_equal(rule.cfa_offset, 8);
	assert_saved(&rule.ra, rule.ra_offset, -4);
	assert_int_equal(exidx_find(&table, BASE + 0x80, &function), EXIDX_CANT_UNWIND);
	assert_int_equal(exidx_start(&table, 2), BASE + 0x30);
}

static void test_frame_pointer(void **data)
{
	struct exidx_function function;
	struct rule_place place;
	struct unwind_rule rule;
	int32_t offset;

	// mov sp, r7; add sp, #8; pop {r4-r8, lr}
	set_entry(0, BASE, 0x809701acu);
	assert_int_equal(exidx_find(&table, BASE, &function), EXIDX_FOUND);
	assert_int_equal(exidx_rule(&function, FP, &rule), EXIDX_FOUND);
	assert_int_equal(rule.cfa_base, FP);
	assert_int_equal(rule.cfa_offset, 8 + 6 * 4);
	assert_saved(&rule.fp, rule.fp_offset, -12);
	assert_int_equal(exidx_place(&function, 8, &place, &offset), EXIDX_FOUND);
	assert_saved(&place, offset, -8);
	assert_int_equal(exidx_place(&function, R11, &place, &offset), EXIDX_FOUND);
	assert_int_equal(place.how, RULE_SAME);
}

static void test_forms(void **data)
{
	struct unwind_rule rule;

	// The short form; the long one, and that with descriptors of 32 bits; a personality of C++.
	assert_int_equal(RULE_OF(&rule, 0x8003a8b0), EXIDX_FOUND);
	assert_int_equal(rule.cfa_offset, 16 + 8);
	assert_int_equal(RULE_OF(&rule, 0x8101b27f, 0xa8b0b0b0), EXIDX_FOUND);
	assert_int_equal(rule.cfa_offset, 0x204 + 0x7f * 4 + 8);
	assert_int_equal(RULE_OF(&rule, 0x82018480, 0xb0b0b0b0), EXIDX_FOUND);
	assert_int_equal(rule.cfa_offset, 8); // pop {r11, lr}
	assert_int_equal(RULE_OF(&rule, 0x7ffffff0, 0x01c9830f, 0xabb0b0b0), EXIDX_FOUND);
	assert_int_equal(rule.cfa_offset, 4 * 8 + 64 + 5 * 4);
	assert_saved(&rule.fp, rule.fp_offset, -8);
}

/* The C library's code that returns from a signal handler: add sp, #…; pop {r0 … r15}. */
static void test_signal_return(void **data)
{
	struct unwind_rule rule;

	assert_int_equal(RULE_OF(&rule, 0x8102b10f, 0x8fffb0b0, 0xb0b0b0b0), EXIDX_FOUND);
	assert_int_equal(rule.cfa_base, SP);
	assert_int_equal(rule.cfa_deref, 1);
	assert_int_equal(rule.cfa_offset, 13 * 4);
	assert_int_equal(rule.ra.base, SP);
	assert_int_equal(rule.ra_offset, 15 * 4);
	assert_int_equal(rule.fp_offset, 7 * 4);
}

static void test_refused(void **data)
{
	struct unwind_rule rule;
	struct exidx_function function;

	assert_int_equal(RULE_OF(&rule, 0x808000b0), EXIDX_CANT_UNWIND);
	assert_int_equal(RULE_OF(&rule, 0x830000b0), EXIDX_BAD); // no such personality
	assert_int_equal(RULE_OF(&rule, 0x80b1f0b0), EXIDX_BAD); // spare opcodes
	assert_int_equal(RULE_OF(&rule, 0x809db0b0), EXIDX_BAD);
	assert_int_equal(RULE_OF(&rule, 0x80a897b0), EXIDX_FOUND);           // of r7, not popped
	assert_int_equal(RULE_OF(&rule, 0x80ab97b0), EXIDX_BAD);             // popped
	assert_int_equal(RULE_OF(&rule, 0x8101b2ff, 0xffffffff), EXIDX_BAD); // a number without end
	assert_int_equal(RULE_OF(&rule, 0x81ff0000), EXIDX_BAD); // longer than the image
	set_entry(0, BASE, prel31(TABLE + 4, BASE - 4));
	assert_int_equal(exidx_find(&table, BASE, &function), EXIDX_BAD);
	set_entry(0, BASE, 0x81b0b0b0);
	assert_int_equal(exidx_find(&table, BASE, &function), EXIDX_BAD);
}

/* Any bytes, of any size: nothing outside of them is read, and it ends. */
static void test_random_tables(void **data)
{
	srand(41);
	for (unsigned round = 0; round < 30000; round++) {
		size_t size = (size_t)rand() % 256;
		uint8_t *bytes = malloc(size + 1);
		struct eh_image random = {bytes, size, BASE};
		struct exidx_table any = {&random, BASE + (uint64_t)rand() % 64,
					  (uint64_t)rand() % 300};
		struct exidx_function function;
		struct unwind_rule rule;

		assert_non_null(bytes);
		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)(rand() % 3 ? rand() : i % 4 == 3 ? 0x80 : 0);
		if (exidx_find(&any, BASE + (uint64_t)rand() % 512, &function) == EXIDX_FOUND &&
		    exidx_rule(&function, FP, &rule) == EXIDX_FOUND)
			assert_int_equal(rule.kind, RULE_STEP);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search),  cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_forms),   cmocka_unit_test(test_signal_return),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_random_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
