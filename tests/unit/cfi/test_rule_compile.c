/* From rows to rules (cfi/rule_compile.h), and rules in 16 bits (cfi/unwind_rule.h). */
#include "cfi/rule_compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define RBX 3
#define RBP 6
#define RSP 7
#define R10 10
#define RIP 16

static const struct unwind_registers registers = {
	.sp = RSP, .fp = RBP, .pc = RIP, .count = 17, .word = 8};

/* A row of ordinary code: CFA = reg + offset, the return address at CFA - 8. */
static struct eh_frame_row row_of(uint32_t reg, int64_t offset)
{
	struct eh_frame_row row = {.signal = false};

	row.row.cfa = (struct cfa_entry){.how = CFA_OFFSET, .reg = reg, .offset = offset};
	row.row.ra = (struct cfa_entry){.how = CFA_OFFSET, .offset = -8};
	return row;
}

static struct cfa_entry saved_at(int64_t offset)
{
	return (struct cfa_entry){.how = CFA_OFFSET, .offset = offset};
}

static struct cfa_entry expression_of(uint8_t how, const uint8_t *bytes, size_t size)
{
	struct cfa_entry entry = {.how = how, .expression = bytes};

	entry.expression_size = (uint32_t)size;
	return entry;
}

#define EXPRESSION(how, ...)                                                                       \
	expression_of((how), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static struct unwind_rule compile(const struct eh_frame_row *row, uint64_t pc)
{
	struct unwind_rule rule;

	memset(&rule, 0xff, sizeof(rule));
	assert_true(rule_compile(row, pc, &registers, &rule));
	return rule;
}

/* The row's rule is plain, has that packed form, and comes out of it again. */
static void check_plain(const struct eh_frame_row *row, uint16_t packed)
{
	struct unwind_rule rule = compile(row, 0x1000), back;

	assert_int_equal(unwind_rule_pack(&rule, &registers), packed);
	unwind_rule_unpack(packed, &registers, &back);
	assert_memory_equal(&back, &rule, sizeof(rule));
}

static void check_wide(const struct eh_frame_row *row)
{
	struct unwind_rule rule = compile(row, 0x1000);

	assert_int_equal(unwind_rule_pack(&rule, &registers), RULE_NONE);
}

static void plain_rules(void **state)
{
	struct eh_frame_row row = row_of(RSP, 16);

	check_plain(&row, 0x8002);
	row.row.saved.how = CFA_SAME;
	check_plain(&row, 0x8002);
	row.row.saved = saved_at(-16);
	check_plain(&row, 0x9002);
	row.row.saved = saved_at(-120);
	check_plain(&row, 0xf802);
	row.row.saved = saved_at(-128);
	check_wide(&row);
	row.row.saved = saved_at(-12);
	check_wide(&row);
	row = row_of(RBP, 16);
	check_wide(&row); // fp is not saved
	row.row.saved = saved_at(-16);
	check_plain(&row, 0x1002);
	row = row_of(RSP, 2047 * 8);
	check_plain(&row, 0x87ff);
	row = row_of(RSP, 2048 * 8);
	check_wide(&row);
	row = row_of(RSP, 0);
	check_wide(&row);
	row = row_of(RBX, 16);
	check_wide(&row);
	row = row_of(RSP, 16);
	row.row.ra = saved_at(0);
	check_wide(&row);
	row = row_of(RSP, 16);
	row.signal = true;
	check_wide(&row);
}

static void outermost_frame(void **state)
{
	struct eh_frame_row row = row_of(RSP, 8);
	const struct unwind_rule end = {.kind = RULE_END};
	struct unwind_rule rule;

	row.row.ra = (struct cfa_entry){.how = CFA_UNDEFINED};
	row.row.saved = saved_at(-16);
	rule = compile(&row, 0x1000);
	assert_memory_equal(&rule, &end, sizeof(rule));
}

/* gcc, before it aligns the stack: CFA = r10. After it: CFA = *(rbp - 8), rbp at rbp. */
static void aligned_frame(void **state)
{
	struct eh_frame_row row = row_of(R10, 0);
	struct unwind_rule rule = compile(&row, 0x1000);

	assert_int_equal(rule.cfa_base, R10);
	row.row.cfa = EXPRESSION(CFA_EXPRESSION, 0x76, 0x78, 0x06);
	row.row.saved = EXPRESSION(CFA_EXPRESSION, 0x76, 0);
	rule = compile(&row, 0x1000);
	assert_int_equal(rule.kind, RULE_STEP);
	assert_int_equal(rule.cfa_base, RBP);
	assert_int_equal(rule.cfa_deref, 1);
	assert_int_equal(rule.cfa_offset, -8);
	assert_int_equal(rule.cfa_add, 0);
	assert_int_equal(rule.fp.how, RULE_AT);
	assert_int_equal(rule.fp.base, RBP);
	assert_int_equal(rule.fp_offset, 0);
	assert_int_equal(rule.ra.base, RULE_BASE_CFA);
	assert_int_equal(rule.ra_offset, -8);
}

/* An entry of a lazy linkage table: rsp + 8, and 8 more from byte 11 on. */
static void linkage_table(void **state)
{
	struct eh_frame_row row = row_of(RSP, 8);
	struct unwind_rule rule;

	row.row.cfa = EXPRESSION(CFA_EXPRESSION, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
				 0x24, 0x22);
	rule = compile(&row, 0x401020);
	assert_int_equal(unwind_rule_pack(&rule, &registers), 0x8001);
	rule = compile(&row, 0x40102a);
	assert_int_equal(unwind_rule_pack(&rule, &registers), 0x8001);
	rule = compile(&row, 0x40102b);
	assert_int_equal(unwind_rule_pack(&rule, &registers), 0x8002);
}

static void lost_and_values(void **state)
{
	struct eh_frame_row row = row_of(RSP, 16);
	struct unwind_rule rule;

	row.row.saved.how = CFA_UNDEFINED;
	rule = compile(&row, 0x1000);
	assert_int_equal(rule.fp.how, RULE_LOST);
	// What cannot be expressed is lost, too: a double load.
	row.row.saved = EXPRESSION(CFA_EXPRESSION, 0x06, 0x06);
	rule = compile(&row, 0x1000);
	assert_int_equal(rule.fp.how, RULE_LOST);
	assert_int_equal(rule.fp_offset, 0);
	row.row.saved = (struct cfa_entry){.how = CFA_VAL_OFFSET, .offset = -24};
	rule = compile(&row, 0x1000);
	assert_int_equal(rule.fp.how, RULE_VALUE);
	assert_int_equal(rule.fp_offset, -24);
	row.row.saved = (struct cfa_entry){.how = CFA_REGISTER};
	row.row.saved.reg = RBX;
	rule = compile(&row, 0x1000);
	assert_int_equal(rule.fp.how, RULE_VALUE);
	assert_int_equal(rule.fp.base, RBX);
	// A value that is loaded is a place: *(CFA - 32).
	row.row.saved = EXPRESSION(CFA_VAL_EXPRESSION, 0x08, 32, 0x1c, 0x06);
	rule = compile(&row, 0x1000);
	assert_int_equal(rule.fp.how, RULE_AT);
	assert_int_equal(rule.fp.base, RULE_BASE_CFA);
	assert_int_equal(rule.fp_offset, -32);
}

static void check_none(const struct eh_frame_row *row)
{
	struct unwind_rule rule = {.kind = 77};

	assert_false(rule_compile(row, 0x1000, &registers, &rule));
	assert_int_equal(rule.kind, 77);
}

static void inexpressible(void **state)
{
	static uint8_t nops[1000];
	struct eh_frame_row row = row_of(17, 8);

	check_none(&row);
	row = row_of(RSP, INT64_C(1) << 31);
	check_none(&row);
	row = row_of(RSP, 8);
	row.row.cfa.how = CFA_UNSPECIFIED;
	check_none(&row);
	row.row.cfa = EXPRESSION(CFA_EXPRESSION, 0x40); // a constant
	check_none(&row);
	memset(nops, 0x96, sizeof(nops));
	nops[0] = 0x77;
	nops[1] = 8;
	row.row.cfa = expression_of(CFA_EXPRESSION, nops, 64);
	compile(&row, 0x1000);
	row.row.cfa = expression_of(CFA_EXPRESSION, nops, 65);
	check_none(&row);
	row = row_of(RSP, 8);
	row.row.ra.how = CFA_UNSPECIFIED;
	check_none(&row);
	row.row.ra = (struct cfa_entry){.how = CFA_REGISTER};
	row.row.ra.reg = 200;
	check_none(&row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_rules),     cmocka_unit_test(outermost_frame),
		cmocka_unit_test(aligned_frame),   cmocka_unit_test(linkage_table),
		cmocka_unit_test(lost_and_values), cmocka_unit_test(inexpressible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
