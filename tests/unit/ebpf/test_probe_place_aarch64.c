/* Where probes stand on AArch64 (ebpf/arch/aarch64/probe_place.c), on whatever machine this runs.
 */
#include "ebpf/arch/probe_place.h"

#include "check.h"

/* Words as the assembler makes them, and their bytes. */
#define CODE(...)                                                                                  \
	(const uint8_t *)(const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__})

enum {
	PACIASP = 0xd503233f,
	BTI_C = 0xd503245f,
	NOP = 0xd503201f,
	CBZ_X0_16 = 0xb4000080,
	STP_PRE = 0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
	ADRP_X8 = 0x90000008,
	LDR_X8_SP = 0xf94007e8, /* ldr x8, [sp, #8] */
	CMP_X0_0 = 0xf100001f,
	CMP_X0_X1 = 0xeb01001f,
	TST_X0_15 = 0xf2400c1f,
	MOV_X8_X0 = 0xaa0003e8,
	MOV_X16_X0 = 0xaa0003f0,
	MOV_X0_X1 = 0xaa0103e0,
	ADD_X8_X0 = 0x91003c08,
	SUB_SP = 0xd10043ff,
	MOV_FP_SP = 0x910003fd,
	STR_X8_X0 = 0xf9000008,
	B_8 = 0x14000002,
	B_BACK_4 = 0x17ffffff,
	B_BACK_8 = 0x17fffffe,
	B_EQ_8 = 0x54000040,
	TBZ_BACK_12 = 0x361fffa0,
	TBNZ_32 = 0xb7400100,
	RET = 0xd65f03c0,
	RETAA = 0xd65f0bff,
	BR_X17 = 0xd61f0220,
	BRAA_X17 = 0xd71f0a3f,
	BL_8 = 0x94000002,
	LDR_LITERAL = 0x58000080,
	UDF = 0x00000000,
};

#define assert_entry(offset, ...) assert_int_equal(probe_place_entry(CODE(__VA_ARGS__)), offset)

static void entries(void **state)
{
	assert_entry(0, STP_PRE, MOV_FP_SP, RET); // malloc of glibc 2.36
	assert_entry(0, CBZ_X0_16, STP_PRE, RET); // free
	assert_entry(0, PACIASP, CBZ_X0_16, RET); // signs x30: the kernel puts its own there
	assert_entry(4, BTI_C, CBZ_X0_16, RET);
	assert_entry(8, NOP, CMP_X0_0, B_EQ_8, RET);
	assert_entry(12, CMP_X0_X1, TST_X0_15, MOV_X8_X0, ADRP_X8, RET);
	assert_entry(8, ADD_X8_X0, LDR_X8_SP, RET);
	assert_entry(4, MOV_X8_X0, BL_8, RET);
	assert_int_equal(probe_place_entry(NULL, 0), 0);
}

static void entries_stop(void **state)
{
	assert_entry(0, MOV_X0_X1, RET);
	assert_entry(0, MOV_X16_X0, RET); // stubs of the linker use it
	assert_entry(0, SUB_SP, RET);
	assert_entry(0, MOV_FP_SP, RET);
	assert_entry(0, STR_X8_X0, RET);
	assert_entry(0, CMP_X0_0, CMP_X0_0);                     // nothing follows
	assert_entry(4, CMP_X0_0, B_BACK_4, RET);                // to the entry itself
	assert_entry(0, CMP_X0_0, B_EQ_8, B_BACK_4, RET);        // to the probe
	assert_entry(0, CMP_X0_0, CMP_X0_0, RET, B_BACK_8, RET); // between both
	assert_entry(4, CMP_X0_0, RET, B_8, RET);
}

static void exits(void **state)
{
	static const struct probe_exit wanted[] = {
		{.offset = 4},
		{.offset = 8, .jumps = true, .target = 0x0ffc},
		{.offset = 20},
		{.offset = 24, .jumps = true, .target = 0x1038},
	};
	struct probe_exit found[PROBE_EXITS_MAX];
	size_t count;

	// b.eq within; ret; tbz in front of it; bl and br do not count; retaa; tbnz behind it
	assert_true(probe_place_exits(CODE(B_EQ_8, RET, TBZ_BACK_12, BL_8, BR_X17, RETAA, TBNZ_32),
				      0x1000, found, &count));
	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(found[i].offset, wanted[i].offset);
		assert_int_equal(found[i].jumps, wanted[i].jumps);
		assert_int_equal(found[i].target, wanted[i].target);
	}
	assert_true(probe_place_exits(CODE(BL_8, BL_8), 0, found, &count)); // it throws
	assert_int_equal(count, 0);
	// What may be data: a probe there would change it.
	assert_false(probe_place_exits(CODE(LDR_LITERAL, RET), 0, found, &count));
	assert_false(probe_place_exits(CODE(RET, UDF), 0, found, &count));
	assert_false(probe_place_exits((const uint8_t *)"", 1, 0, found, &count));
}

static void check_jump(const uint8_t *code, size_t size, uint64_t address, int kind, uint64_t to)
{
	struct code_jump jump = probe_place_jump(code, size, address);

	assert_int_equal(jump.kind, kind);
	assert_int_equal(jump.address, to);
}

static void jumps(void **state)
{
	check_jump(CODE(B_BACK_8), 0x1000, CODE_JUMP_DIRECT, 0xff8);
	check_jump(CODE(BTI_C, B_8), 0x1000, CODE_JUMP_DIRECT, 0x100c);
	check_jump(CODE(BR_X17), 0x1000, CODE_JUMP_UNKNOWN, 0);
	check_jump(CODE(BRAA_X17), 0x1000, CODE_JUMP_UNKNOWN, 0);
	check_jump(CODE(RET), 0x1000, CODE_JUMP_NONE, 0);
	check_jump(CODE(BTI_C), 0x1000, CODE_JUMP_NONE, 0);
	check_jump(NULL, 0, 0x1000, CODE_JUMP_NONE, 0);
	// adrp x16, .-0x1000 + 0x3000; ldr x17, [x16, #24]; add x16, x16, #24; br x17
	check_jump(CODE(0xf0000010, 0xf9400e11, 0x91006210, BR_X17), 0x2468, CODE_JUMP_BY_SLOT,
		   0x5018);
	check_jump(CODE(BTI_C, 0xf0fffff0, 0xf9400e11, 0x91006210, BR_X17), 0x2468,
		   CODE_JUMP_BY_SLOT, 0x1018);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(entries_stop),
		cmocka_unit_test(exits),
		cmocka_unit_test(jumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
