/* Rules by reading code (cfi/scan.h), of MIPS64's. */
#include "cfi/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE 0x10000u
#define SP   29
#define FP   30
#define RA   31

#define NOP            0u
#define JR_RA          0x03e00008u
#define JALR_T9        0x0320f809u
#define MOVE_S8_SP     0x03a0f025u
#define MOVE_SP_S8     0x03c0e825u
/* clang-format off */
#define DADDIU(to, from, n) (0x64000000u | (from) << 21 | (to) << 16 | ((n) & 0xffff))
#define SD(reg, n)          (0xffa00000u | (reg) << 16 | ((n) & 0xffff))
#define LD(reg, n)          (0xdfa00000u | (reg) << 16 | ((n) & 0xffff))
#define BEQZ_A0(n)          (0x10800000u | ((n) & 0xffff))
#define B(n)                (0x10000000u | ((n) & 0xffff))
#define LUI(to, n)          (0x3c000000u | (to) << 16 | (n))
#define ORI(to, from, n)    (0x34000000u | (from) << 21 | (to) << 16 | (n))
/* clang-format on */
#define DSUBU_SP_V0    0x03a2e82fu
#define DADDU_GP_GP_T9 0x0399e02du

static struct scan_state states[4096];

static void run(const uint32_t *code, size_t count, bool open)
{
	scan_run(&(struct scan_code){(const uint8_t *)code, BASE, count, open, false}, states);
}

/* The rule that a walk gets for the call at i. */
static struct unwind_rule rule_of_call(size_t i)
{
	struct unwind_rule rule;

	assert_true(scan_rule(&states[i + 1], &rule));
	return rule;
}

#define assert_rule(rule, base, cfa, ra_at, fp_at)                                                 \
	do {                                                                                       \
		struct unwind_rule rule_ = (rule);                                                 \
		assert_int_equal(rule_.cfa_base, base);                                            \
		assert_int_equal(rule_.cfa_offset, cfa);                                           \
		assert_int_equal(rule_.ra.how, RULE_AT);                                           \
		assert_int_equal(rule_.ra_offset, ra_at);                                          \
		assert_int_equal(rule_.fp.how == RULE_AT ? rule_.fp_offset : 0, fp_at);            \
	} while (0)

static void test_frame(void **data)
{
	const uint32_t code[] = {
		DADDIU(SP, SP, -48), SD(RA, 40), SD(FP, 32),         JALR_T9, NOP, LD(RA, 40),
		LD(FP, 32),          JR_RA,      DADDIU(SP, SP, 48),
	};
	struct unwind_rule rule;

	run(code, 9, false);
	assert_rule(rule_of_call(3), SP, 48, -8, -16);
	// At the first instruction nothing has happened yet.
	assert_true(scan_rule(&states[0], &rule));
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.ra.how, RULE_VALUE);
	assert_int_equal(rule.ra.base, RA);
}

/* What alloca() takes is not known; s8 leads to the frame. */
static void test_frame_pointer(void **data)
{
	const uint32_t code[] = {
		DADDIU(SP, SP, -32), SD(RA, 24), SD(FP, 16), MOVE_S8_SP,
		DSUBU_SP_V0,         JALR_T9,    NOP,        MOVE_SP_S8,
		LD(RA, 24),          LD(FP, 16), JR_RA,      DADDIU(SP, SP, 32),
	};

	run(code, 12, false);
	assert_rule(rule_of_call(5), FP, 32, -8, -16);
	assert_int_equal(states[11].sp, -32);
	assert_true(states[11].flags & SCAN_CALLERS_FP);
}

static void test_large_frame(void **data)
{
	const uint32_t code[] = {
		DADDIU(SP, SP, -16), SD(RA, 8), LUI(2, 1), ORI(2, 2, 0x8000),
		DSUBU_SP_V0,         JALR_T9,   NOP,
	};

	run(code, 7, false);
	assert_rule(rule_of_call(5), SP, 16 + 0x18000, -8, 0);
}

/* An early return, and then what a branch leads to: its frame is there. Behind it nothing is sure.
 */
static void test_early_return(void **data)
{
	const uint32_t code[] = {
		DADDIU(SP, SP, -32),
		SD(RA, 24),
		BEQZ_A0(4),
		NOP,
		LD(RA, 24),
		JR_RA,
		DADDIU(SP, SP, 32),
		JALR_T9,
		NOP,
		B(-1),
		NOP,
		JALR_T9,
		NOP,
	};

	run(code, 13, false);
	assert_rule(rule_of_call(7), SP, 32, -8, 0);
	assert_int_equal(states[8].guess, SCAN_SURE);
}

/* Behind a return that nothing leads over, either the body goes on or a function begins. */
static void test_behind_a_return(void **data)
{
	const uint32_t code[] = {
		DADDIU(SP, SP, -32),
		SD(RA, 24),
		JALR_T9,
		NOP,
		LD(RA, 24),
		JR_RA,
		DADDIU(SP, SP, 32),
		NOP,
		DADDIU(SP, SP, -64),
		SD(RA, 56),
		JALR_T9,
		NOP,
	};

	run(code, 12, true);
	assert_rule(rule_of_call(10), SP, 64, -8, 0);
	assert_int_equal(states[11].guess, SCAN_BEGUN);
	run(code, 12, false);
	assert_int_equal(states[11].guess, SCAN_OF_BODY);
}

/* A loop whose end knows less than its start did. */
static void test_loop(void **data)
{
	const uint32_t code[] = {
		DADDIU(SP, SP, -32), SD(RA, 24),  SD(FP, 16), MOVE_S8_SP, JALR_T9, NOP,
		LUI(FP, 1),          BEQZ_A0(-4), NOP,
	};

	run(code, 9, false);
	assert_rule(rule_of_call(4), SP, 32, -8, -16);
}

static void test_start_by_gp(void **data)
{
	// gp = t9 + 0x20000 - 0x7000; two functions, the first at 8 bytes.
	const uint32_t code[] = {
		NOP,
		JR_RA,
		DADDIU(SP, SP, -16),
		LUI(28, 2),
		DADDU_GP_GP_T9,
		DADDIU(28, 28, -0x7000),
		JALR_T9,
		NOP,
		LUI(28, 2),
		DADDU_GP_GP_T9,
		DADDIU(28, 28, -0x7018),
		NOP,
	};
	struct scan_text text = {.bytes = (const uint8_t *)code,
				 .address = BASE,
				 .size = sizeof(code),
				 .anchor = BASE + 8 + 0x19000};
	uint64_t start, end;

	scan_find_starts(&text, BASE + 6 * 4, &start, &end);
	assert_int_equal(start, BASE + 8);
	assert_int_equal(end, BASE + 8 * 4);
	text.anchor = 0;
	scan_find_starts(&text, BASE + 6 * 4, &start, &end);
	assert_int_equal(start, 0);
	assert_int_equal(end, BASE + sizeof(code));
}

/* Code of random words, many of them of the kinds that matter, and asked for at random places. */
static void test_random_code(void **data)
{
	static const uint32_t kinds[] = {
		DADDIU(SP, SP, -64), DADDIU(SP, SP, 64), SD(RA, 56),  SD(FP, 48), LD(RA, 56),
		MOVE_S8_SP,          MOVE_SP_S8,         DSUBU_SP_V0, JR_RA,      JALR_T9,
		LUI(28, 2),          DADDU_GP_GP_T9,     BEQZ_A0(0),  B(0),       NOP,
	};
	static uint32_t code[1024];

	srand(48);
	for (unsigned round = 0; round < 3000; round++) {
		size_t count = 1 + (size_t)rand() % 1024;
		struct scan_text text = {.bytes = (const uint8_t *)code,
					 .address = BASE,
					 .size = count * 4,
					 .anchor = BASE + (uint64_t)rand() % 0x20000};
		struct scan_code place;
		uint32_t *copy;

		for (size_t i = 0; i < count; i++) {
			code[i] = (uint32_t)rand() << 1 ^ (uint32_t)rand();
			if (rand() % 4)
				code[i] =
					kinds[(size_t)rand() % (sizeof(kinds) / sizeof(kinds[0]))] |
					(code[i] & 0x3f);
		}
		// Of that size, so that each byte too far is seen.
		copy = malloc(count * 4);
		assert_non_null(copy);
		memcpy(copy, code, count * 4);
		text.bytes = (const uint8_t *)copy;
		scan_place(&text, BASE + (uint64_t)rand() % count * 4, &place);
		assert_true(place.address >= BASE &&
			    place.count <= count - (place.address - BASE) / 4);
		scan_run(&place, states);
		for (size_t i = 0; i < place.count; i++) {
			struct unwind_rule rule;

			if (scan_rule(&states[i], &rule))
				assert_int_equal(rule.kind, RULE_STEP);
		}
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame),           cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_large_frame),     cmocka_unit_test(test_early_return),
		cmocka_unit_test(test_behind_a_return), cmocka_unit_test(test_loop),
		cmocka_unit_test(test_start_by_gp),     cmocka_unit_test(test_random_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
