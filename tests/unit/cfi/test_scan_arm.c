/* Rules by reading code (cfi/scan.h), of ARM's: Thumb code and ARM code. */
#include "cfi/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE 0x10000u
#define R7   7
#define R11  11
#define SP   13
#define LR   14

/* Thumb code. */
#define PUSH_R7_LR   0xb580
#define SUB_SP_16    0xb084
#define SUB_SP_R3    0xebad, 0x0d03
#define ADD_R7_SP    0xaf00
#define ADD_R7_16    0x3710
#define MOV_SP_R7    0x46bd
#define POP_R7_PC    0xbd80
#define PUSH_R4_LR   0xb510
#define POP_R4_PC    0xbd10
#define BL           0xf000, 0xf800
#define BX_LR        0x4770
#define CMP_R0_2     0x2802
#define TBB_R0       0xe8df, 0xf000
#define IT_EQ        0xbf08
#define VPUSH_D8     0xed2d, 0x8b02
#define STR_LR_PUSH  0xf84d, 0xed04
#define NOP          0xbf00
#define B(n)         (0xe000 | ((n)&0x7ff))
#define BEQ(n)       (0xd000 | ((n)&0xff))
#define LDR_R3_PC(n) (0x4b00 | (n))

static struct scan_state states[8192];

static void run(const void *code, size_t size, bool thumb, bool open)
{
	scan_run(&(struct scan_code){code, BASE, size / 2, open, thumb}, states);
}

#define RUN(open, ...)                                                                             \
	do {                                                                                       \
		const uint16_t code_[] = {__VA_ARGS__};                                            \
		run(code_, sizeof(code_), true, open);                                             \
	} while (0)

#define RUN_ARM(...)                                                                               \
	do {                                                                                       \
		const uint32_t code_[] = {__VA_ARGS__};                                            \
		run(code_, sizeof(code_), false, false);                                           \
	} while (0)

/* last: the last unit of a call. */
static void assert_rule(size_t last, int base, int cfa, int ra_at, int fp_at)
{
	struct unwind_rule rule;

	assert_true(scan_rule(&states[last], &rule));
	assert_int_equal(rule.cfa_base, base);
	assert_int_equal(rule.cfa_offset, cfa);
	assert_int_equal(rule.ra.how, RULE_AT);
	assert_int_equal(rule.ra_offset, ra_at);
	assert_int_equal(rule.fp.how == RULE_AT ? rule.fp_offset : 0, fp_at);
}

static void test_frame(void **data)
{
	struct unwind_rule rule;

	RUN(false, PUSH_R4_LR, SUB_SP_16, BL, 0xb004, POP_R4_PC);
	assert_rule(3, SP, 24, -4, 0);
	// At the first instruction nothing has happened yet.
	assert_true(scan_rule(&states[0], &rule));
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.ra.how, RULE_VALUE);
	assert_int_equal(rule.ra.base, LR);
	RUN(false, STR_LR_PUSH, VPUSH_D8, BL);
	assert_rule(5, SP, 12, -4, 0);
}

/* What alloca() takes is not known; r7 leads to the frame. */
static void test_frame_pointer(void **data)
{
	RUN(false, PUSH_R7_LR, SUB_SP_16, ADD_R7_SP, SUB_SP_R3, BL, ADD_R7_16, MOV_SP_R7,
	    POP_R7_PC);
	assert_rule(6, R7, 24, -4, -8);
	assert_int_equal(states[9].sp, -8);
}

/* Its size is a word behind the code, which is no code. */
static void test_large_frame(void **data)
{
	RUN(true, PUSH_R4_LR, LDR_R3_PC(3), SUB_SP_R3, BL, POP_R4_PC, NOP, 0x0004, 0x0001, BL);
	assert_rule(5, SP, 0x10004 + 8, -4, 0);
}

/* A conditional return, of which nothing is left where it did not happen. */
static void test_condition(void **data)
{
	RUN(false, PUSH_R4_LR, IT_EQ, POP_R4_PC, BL, POP_R4_PC);
	assert_rule(4, SP, 8, -4, 0);
	assert_int_equal(states[4].guess, SCAN_SURE);
}

/* A table between the code; its two entries lead to calls. Behind a return nothing else does. */
static void test_table(void **data)
{
	RUN(true, PUSH_R4_LR, CMP_R0_2 - 1, BEQ(10), TBB_R0, 0x0401, BL, POP_R4_PC, BL, POP_R4_PC);
	assert_rule(7, SP, 8, -4, 0);
	assert_rule(10, SP, 8, -4, 0);
	assert_int_equal(states[7].guess, SCAN_SURE);
	assert_int_equal(states[10].guess, SCAN_SURE);
}

static void test_behind_a_return(void **data)
{
	RUN(true, PUSH_R4_LR, BL, POP_R4_PC, PUSH_R7_LR, SUB_SP_16, BL);
	assert_rule(7, SP, 24, -4, -8);
	assert_int_equal(states[7].guess, SCAN_BEGUN);
	RUN(false, PUSH_R4_LR, BL, POP_R4_PC, NOP, BL);
	assert_int_equal(states[6].guess, SCAN_OF_BODY);
}

static void test_arm_code(void **data)
{
	struct rule_place place;
	int32_t offset;

	// push {r11, lr}; add r11, sp, #4; sub sp, sp, r3; bl; popeq {r11, pc}; bl
	RUN_ARM(0xe92d4800, 0xe28db004, 0xe04dd003, 0xeb000000, 0x08bd8800, 0xeb000000);
	assert_rule(7, R11, 4, -4, 0);
	assert_rule(11, R11, 4, -4, 0);
	scan_saved_place(&states[11], SCAN_SAVED_FP2, &place, &offset);
	assert_int_equal(place.how, RULE_AT);
	assert_int_equal(offset, -8);
}

/* Where calls lead to, and symbols, within which nothing else begins. */
static void test_marks(void **data)
{
	const uint16_t code[] = {
		PUSH_R4_LR, 0xf000, 0xf802, POP_R4_PC, NOP, NOP,        // bl to the next one
		PUSH_R4_LR, 0xf000, 0xf802, POP_R4_PC, NOP, PUSH_R4_LR, // bl to NOP, PUSH
		BL,
	};
	uint8_t marks[8] = {0};
	struct scan_text text = {(const uint8_t *)code, BASE, sizeof(code), 0, marks, true};
	struct scan_code place;
	uint64_t start, end;

	assert_true(scan_marks_size(&text) <= sizeof(marks));
	scan_mark_calls(&text);
	assert_false(scan_place(&text, BASE + 4, &place));
	scan_mark_symbol(&text, BASE + 1, 10);
	scan_find_starts(&text, BASE + 4, &start, &end);
	assert_int_equal(start, BASE + 1);
	scan_mark_symbol(&text, BASE + 13, 10);
	scan_find_starts(&text, BASE + 18, &start, &end);
	assert_int_equal(start, BASE + 13);
	assert_true(scan_place(&text, BASE + 18, &place));
	assert_int_equal(place.address, BASE + 12);
	assert_true(place.thumb);
	scan_mark_symbol(&text, BASE + 1, sizeof(code));
	scan_find_starts(&text, BASE + 18, &start, &end);
	assert_int_equal(start, BASE + 1);
	assert_int_equal(end, BASE + sizeof(code));
}

/* Random halfwords, many of them of the kinds that matter, and asked for at random places. */
static void test_random_code(void **data)
{
	static const uint16_t kinds[] = {
		PUSH_R7_LR, SUB_SP_16, 0xebad, 0x0d03,   ADD_R7_SP, MOV_SP_R7, POP_R7_PC,
		0xf000,     0xf800,    BX_LR,  CMP_R0_2, 0xe8df,    0xf000,    IT_EQ,
		B(0),       BEQ(0),    0x4b00, 0xe92d,   0xe8bd,    NOP,       0xa000,
		0x0800,     0xe1a0,    0xea00, 0xeb00,   0xe59f,    0xe08f,    0x979f,
	};
	static uint16_t code[2048];

	srand(48);
	for (unsigned round = 0; round < 3000; round++) {
		size_t count = 1 + (size_t)rand() % 2048;
		uint8_t *copy = malloc(count * 2), *marks = calloc(1, count / 4 + 1);
		struct scan_text text = {copy, BASE, count * 2, 0, marks, rand() % 2};
		struct scan_code place;

		for (size_t i = 0; i < count; i++) {
			code[i] = (uint16_t)rand();
			if (rand() % 4)
				code[i] = kinds[(size_t)rand() % (sizeof(kinds) / sizeof(*kinds))] |
					  (code[i] & 0x1f);
		}
		// Of that size, so that each byte too far is seen.
		assert_non_null(copy);
		assert_non_null(marks);
		memcpy(copy, code, count * 2);
		scan_mark_calls(&text);
		for (unsigned i = 0; i < 4; i++)
			scan_mark_start(&text, BASE - 8 + (uint64_t)rand() % (count * 2 + 16));
		scan_mark_symbol(&text, BASE + (uint64_t)rand() % (count * 2),
				 (uint64_t)rand() % 100);
		scan_place(&text, BASE + (uint64_t)rand() % count * 2, &place);
		assert_true(place.address >= BASE &&
			    place.count <= count - (place.address - BASE) / 2);
		scan_run(&place, states);
		for (size_t i = 0; i < place.count; i++) {
			struct unwind_rule rule;

			if (scan_rule(&states[i], &rule))
				assert_int_equal(rule.kind, RULE_STEP);
		}
		free(copy);
		free(marks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame),       cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_large_frame), cmocka_unit_test(test_condition),
		cmocka_unit_test(test_table),       cmocka_unit_test(test_behind_a_return),
		cmocka_unit_test(test_arm_code),    cmocka_unit_test(test_marks),
		cmocka_unit_test(test_random_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
