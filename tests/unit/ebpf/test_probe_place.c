/* Lengths and kinds of x86-64's instructions, and where probes stand by them. */
#include "ebpf/arch/probe_place.h"

#include <stdlib.h>
#include <string.h>

#include "allocators/x86_64/instruction.h"

#include "check.h"

/* An array's bytes and their number, for what takes both. */
#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/*
 * The bytes are one instruction of that kind. They are decoded at the end of a block of the heap,
 * so that a sanitizer sees a byte read beyond them; with any byte fewer they are cut short.
 */
static struct x86_instruction check_one(enum x86_kind kind, const uint8_t *code, size_t size)
{
	struct x86_instruction insn = {0};

	for (size_t given = 0; given <= size; given++) {
		uint8_t *copy = malloc(given + !given);
		bool understood;

		assert_non_null(copy);
		memcpy(copy, code, given);
		understood = x86_instruction_decode(copy, given, &insn);
		if (understood != (given == size))
			fail_msg("%02x …: %zu of %zu bytes", code[0], given, size);
		free(copy);
	}
	assert_int_equal(insn.length, size);
	assert_int_equal(insn.kind, kind);
	return insn;
}

#define assert_one(kind, ...) check_one(X86_##kind, CODE(__VA_ARGS__))

static void assert_invalid_bytes(const uint8_t *code, size_t size)
{
	struct x86_instruction insn = {.length = 99};

	assert_false(x86_instruction_decode(code, size, &insn));
	assert_int_equal(insn.length, 99);
}

#define assert_invalid(...) assert_invalid_bytes(CODE(__VA_ARGS__))

static void addresses(void **state)
{
	assert_one(ORDINARY, 0x89, 0xd8);                                  // mov %ebx,%eax
	assert_one(ORDINARY, 0x8b, 0x00);                                  // (%rax)
	assert_one(ORDINARY, 0x49, 0x8b, 0x45, 0x00);                      // (%r13)
	assert_one(ORDINARY, 0x49, 0x8b, 0x04, 0x24);                      // (%r12)
	assert_one(ORDINARY, 0x48, 0x8b, 0x44, 0x24, 0x08);                // 8(%rsp)
	assert_one(ORDINARY, 0x8b, 0x80, 0x78, 0x56, 0x34, 0x12);          // 0x12345678(%rax)
	assert_one(ORDINARY, 0x8b, 0x05, 0x78, 0x56, 0x34, 0x12);          // (%rip)
	assert_one(ORDINARY, 0x8b, 0x04, 0x25, 0x78, 0x56, 0x34, 0x12);    // 0x12345678
	assert_one(ORDINARY, 0x8b, 0x84, 0xd8, 0x78, 0x56, 0x34, 0x12);    // (%rax,%rbx,8)
	assert_one(ORDINARY, 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0); // %fs:0x28
	assert_one(ORDINARY, 0x0f, 0x20, 0x04);             // mov %cr0: always a register
	assert_one(ORDINARY, 0xa0, 1, 2, 3, 4, 5, 6, 7, 8); // mov of a far address
	assert_one(ORDINARY, 0x67, 0xa1, 1, 2, 3, 4);       // the same, of 32 bits
	assert_one(ORDINARY, 0xf0, 0x48, 0x0f, 0xb1, 0x16); // lock cmpxchg
	// 15 bytes, the most that processors take
	assert_one(ORDINARY, 0x26, 0x2e, 0x36, 0x3e, 0x65, 0x66, 0x67, 0x48, 0x81, 0x04, 0x24, 1, 2,
		   3, 4);
}

static void immediates(void **state)
{
	assert_one(ORDINARY, 0xb8, 1, 2, 3, 4);                      // mov $,%eax
	assert_one(ORDINARY, 0x66, 0xb8, 1, 2);                      // mov $,%ax
	assert_one(ORDINARY, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 0x7f); // movabs
	assert_one(ORDINARY, 0x68, 1, 2, 3, 4);                      // push $
	assert_one(ORDINARY, 0x6a, 1);
	assert_one(ORDINARY, 0x66, 0x48, 0x69, 0xd8, 1, 2, 3, 4); // imul: REX.W beats 66
	assert_one(ORDINARY, 0x66, 0x69, 0xd8, 1, 2);
	assert_one(ORDINARY, 0xf6, 0x44, 0x98, 0x08, 0x01);       // testb $
	assert_one(ORDINARY, 0x66, 0xf7, 0x00, 1, 2);             // testw $
	assert_one(ORDINARY, 0xf7, 0x00, 1, 2, 3, 4);             // testl $
	assert_one(ORDINARY, 0xf7, 0x10);                         // notl
	assert_one(ORDINARY, 0xc8, 0x10, 0x00, 0x01);             // enter
	assert_one(ORDINARY, 0x0f, 0xa4, 0xc3, 0x03);             // shld $
	assert_one(ORDINARY, 0x0f, 0xba, 0xe0, 0x03);             // bt $
	assert_one(ORDINARY, 0x66, 0x0f, 0x70, 0xd1, 0x03);       // pshufd
	assert_one(ORDINARY, 0x66, 0x0f, 0x38, 0x00, 0xd1);       // pshufb
	assert_one(ORDINARY, 0x66, 0x0f, 0x3a, 0x0f, 0xd1, 0x03); // palignr
}

static void vectors(void **state)
{
	assert_one(ORDINARY, 0xc5, 0xf8, 0x77);       // vzeroupper
	assert_one(ORDINARY, 0xc5, 0xfe, 0x6f, 0x07); // vmovdqu
	assert_one(ORDINARY, 0xc5, 0x7e, 0x6f, 0x44, 0x0f, 0x20);
	assert_one(ORDINARY, 0xc5, 0xfd, 0x70, 0xd1, 0x03);       // vpshufd
	assert_one(ORDINARY, 0xc4, 0xe2, 0x7d, 0x78, 0xc0);       // vpbroadcastb
	assert_one(ORDINARY, 0xc4, 0xe3, 0x6d, 0x0f, 0xd9, 0x03); // vpalignr
	assert_one(ORDINARY, 0xc4, 0xe2, 0xf8, 0xf5, 0xcb);       // bzhi
	assert_one(ORDINARY, 0xc4, 0xe3, 0xfb, 0xf0, 0xd8, 0x03); // rorx
	assert_one(ORDINARY, 0x8f, 0xe8, 0x78, 0xc2, 0xd1, 0x07); // vprotd, of XOP
	assert_one(ORDINARY, 0x8f, 0x00);                         // pop (%rax), the same byte
	assert_one(ORDINARY, 0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x07); // vmovdqu64, of EVEX
	assert_one(ORDINARY, 0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x47, 0x01);
	assert_one(ORDINARY, 0x62, 0xe1, 0x7f, 0xa9, 0x6f, 0x8c, 0x0f, 1, 2, 3,
		   4);                                                  // vmovdqu8 {%k1}{z}
	assert_one(ORDINARY, 0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 0xff); // vpternlogd
	assert_one(ORDINARY, 0x62, 0xf1, 0x7c, 0x48, 0x78, 0xc8);       // vcvttps2udq
	assert_one(ORDINARY, 0x62, 0xf5, 0x74, 0x48, 0x58, 0xd0);       // vaddph
	assert_invalid(0x66, 0xc5, 0xfe, 0x6f, 0x07);                   // VEX has the 66 in it
	assert_invalid(0x62, 0xf1, 0x78, 0x48, 0x78, 0xc8);             // a bit that is always 1
	assert_invalid(0xc4, 0xe7, 0x7d, 0x78, 0xc0);                   // no such map
}

static void invalid(void **state)
{
	assert_invalid(0x06);             // push %es
	assert_invalid(0x48, 0x66, 0x50); // REX is last
	assert_invalid(0x0f, 0x04);
	assert_invalid(0xff, 0xf8);             // ff has seven operations
	assert_invalid(0x66, 0xe9, 0, 0, 0, 0); // 16 or 32 bits
	assert_invalid(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		       0x66, 0x66, 0x90); // 16 bytes
}

static void kinds(void **state)
{
	assert_one(PUSH, 0x55);
	assert_one(PUSH, 0x41, 0x57);
	assert_one(NOP, 0x90);
	assert_one(NOP, 0x66, 0x90);
	assert_one(NOP, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0);
	assert_one(ORDINARY, 0xf3, 0x90); // pause
	assert_one(ORDINARY, 0x49, 0x90); // xchg %r8,%rax
	assert_one(ENDBR, 0xf3, 0x0f, 0x1e, 0xfa);
	assert_one(ORDINARY, 0xf3, 0x48, 0x0f, 0x1e, 0xc8); // rdsspq %rax
	assert_one(RETURN, 0xc3);
	assert_one(RETURN, 0xf3, 0xc3);
	assert_one(RETURN, 0xf2, 0xc3);
	assert_one(RETURN, 0xc2, 0x10, 0x00);
	assert_one(INDIRECT_JUMP, 0xff, 0xe0);
	assert_one(INDIRECT_JUMP, 0x3e, 0xff, 0xe0);             // notrack
	assert_one(INDIRECT_JUMP, 0xf2, 0xff, 0x25, 0, 0, 0, 0); // bnd, of a PLT
	assert_one(INDIRECT_CALL, 0x41, 0xff, 0xd3);
	assert_one(ORDINARY, 0xff, 0x30); // push (%rax)
	assert_int_equal(assert_one(JUMP, 0xeb, 0xfe).target, 0);
	assert_int_equal(assert_one(JUMP, 0xf2, 0xe9, 1, 0, 0, 0).target, 7);
	assert_int_equal(assert_one(BRANCH, 0x74, 0x10).target, 0x12);
	assert_int_equal(assert_one(BRANCH, 0x0f, 0x85, 0xf0, 0xff, 0xff, 0xff).target, -10);
	assert_int_equal(assert_one(LOOP, 0xe3, 0x80).target, -126);
	assert_int_equal(assert_one(LOOP, 0xc7, 0xf8, 0, 1, 0, 0).target, 0x106); // xbegin
	assert_int_equal(assert_one(CALL, 0x67, 0xe8, 0, 0, 0, 0x80).target, INT32_MIN + 6ll);
	assert_int_equal(assert_one(CALL, 0x66, 0x48, 0xe8, 0, 0, 0, 0).target, 7);
}

#define assert_entry(offset, ...) assert_int_equal(probe_place_entry(CODE(__VA_ARGS__)), offset)

#define RET 0xc3

/* Functions of glibc 2.36, and what others begin with. */
static void entries(void **state)
{
	assert_entry(0, 0x41, 0x54, 0x55, RET);                      // malloc: push
	assert_entry(3, 0x48, 0x85, 0xff, 0x74, 0x00, RET);          // free: test, je
	assert_entry(7, 0x80, 0x3d, 1, 2, 3, 4, 0, 0x41, 0x54, RET); // posix_memalign: cmpb, push
	assert_entry(10, 0x41, 0x89, 0xca, 0x41, 0xf7, 0xc1, 0xff, 0x0f, 0, 0, 0x75, 0x00,
		     RET);                                                    // mmap
	assert_entry(4, 0xf3, 0x0f, 0x1e, 0xfa, 0x55, RET);                   // endbr64, push
	assert_entry(4, 0xf3, 0x0f, 0x1e, 0xfa, 0xe9, 0, 0, 0, 0);            // endbr64, jmp
	assert_entry(4, 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0, RET); // endbr64, nop
	assert_entry(2, 0x31, 0xc0, 0xe8, 0, 0, 0, 0, RET);                   // xor %eax,%eax, call
	assert_entry(0, 0xe9, 0, 0, 0, 0);
	assert_entry(0, RET);
	assert_entry(0, 0x90);
	assert_int_equal(probe_place_entry(NULL, 0), 0);
}

static void entries_pass(void **state)
{
	assert_entry(7, 0x48, 0x8b, 0x05, 1, 2, 3, 4, 0x55, RET); // mov (%rip),%rax
	assert_entry(4, 0x48, 0x8d, 0x47, 0x08, 0x55, RET);       // lea 8(%rdi),%rax
	assert_entry(6, 0x41, 0xba, 1, 2, 3, 4, 0x55, RET);       // mov $,%r10d
	assert_entry(2, 0xb4, 0x01, 0x55, RET);                   // mov $1,%ah
	assert_entry(3, 0x0f, 0x94, 0xc0, 0x55, RET);             // sete %al
	assert_entry(10, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x55, RET); // nop with cs
}

static void entries_stop(void **state)
{
	assert_entry(0, 0x48, 0x83, 0xec, 0x08, 0x55, RET);       // sub $8,%rsp
	assert_entry(0, 0x48, 0x89, 0xf7, 0x55, RET);             // mov %rsi,%rdi
	assert_entry(0, 0x41, 0xb8, 1, 2, 3, 4, 0x55, RET);       // mov $,%r8d
	assert_entry(0, 0xb5, 0x01, 0x55, RET);                   // mov $1,%ch
	assert_entry(0, 0x40, 0xb7, 0x01, 0x55, RET);             // mov $1,%dil
	assert_entry(0, 0x0f, 0x94, 0xc6, 0x55, RET);             // sete %dh
	assert_entry(0, 0x89, 0x05, 1, 2, 3, 4, 0x55, RET);       // mov %eax,(%rip)
	assert_entry(0, 0xc6, 0xf8, 0x00, 0x55, RET);             // xabort
	assert_entry(0, 0x58, 0x55, RET);                         // pop %rax
	assert_entry(0, 0xff, 0x35, 1, 2, 3, 4, 0x55, RET);       // push (%rip)
	assert_entry(0, 0x0f, 0xa2, 0x55, RET);                   // cpuid
	assert_entry(0, 0x49, 0x90, 0x55, RET);                   // xchg %r8,%rax
	assert_entry(0, 0xc5, 0xf8, 0x77, 0x55, RET);             // vzeroupper
	assert_entry(0, 0x31, 0xc0, 0xe3, 0x00, 0x55, RET);       // jrcxz
	assert_entry(0, 0x31, 0xc0, 0x3e, 0x74, 0x00, RET);       // a hint: Linux refuses it
	assert_entry(0, 0x31, 0xc0, 0x48, 0x50, RET);             // a push Linux steps over
	assert_entry(0, 0x48, 0x85, 0xff);                        // nothing follows
	assert_entry(0, 0x48, 0x85, 0xff, 0x74, 0x00, RET, 0x06); // not understood
}

/* test; je; a jump back; ret. */
static void entries_jumped_to(void **state)
{
	assert_entry(3, 0x48, 0x85, 0xff, 0x74, 0x00, 0xeb, 0x00, RET);
	assert_entry(3, 0x48, 0x85, 0xff, 0x74, 0x00, 0xeb, 0xf9, RET); // to the entry itself
	assert_entry(0, 0x48, 0x85, 0xff, 0x74, 0x00, 0xeb, 0xfa, RET); // into the test
	assert_entry(0, 0x48, 0x85, 0xff, 0x74, 0x00, 0xeb, 0xfc, RET); // to the je
	assert_entry(0, 0x48, 0x85, 0xff, 0x74, 0x00, 0x75, 0xfc, RET);
	assert_entry(0, 0x48, 0x85, 0xff, 0x74, 0x00, 0xe2, 0xfc, RET);
	assert_entry(0, 0x48, 0x85, 0xff, 0x74, 0x00, 0xe8, 0xf9, 0xff, 0xff, 0xff, RET);
	assert_entry(0, 0x48, 0x85, 0xff, 0x74, 0xfe, RET); // the je to itself
}

static void exits(void **state)
{
	static const uint8_t code[] = {
		0x74, 0x02,                      // 00 je 04
		0xf3, 0xc3,                      // 02 repz ret
		0x7e, 0xfa,                      // 04 jle 00
		0x0f, 0x84, 0x10, 0,    0,    0, // 06 je 1c, the first byte beyond
		0xff, 0xe0,                      // 0c jmp *%rax
		0xc2, 0x08, 0x00,                // 0e ret $8
		0xe8, 0x00, 0x10, 0,    0,       // 11 call
		0xe9, 0xe4, 0xff, 0xff, 0xff,    // 16 jmp -1
		RET,                             // 1b
	};
	static const struct probe_exit wanted[] = {
		{.offset = 0x02}, {.offset = 0x06, .jumps = true, .target = 0x101c},
		{.offset = 0x0e}, {.offset = 0x16, .jumps = true, .target = 0x0fff},
		{.offset = 0x1b},
	};
	struct probe_exit found[PROBE_EXITS_MAX];
	size_t count;

	assert_int_equal(sizeof(code), 0x1c);
	assert_true(probe_place_exits(code, sizeof(code), 0x1000, found, &count));
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(found[i].offset, wanted[i].offset);
		assert_int_equal(found[i].jumps, wanted[i].jumps);
		assert_int_equal(found[i].target, wanted[i].target);
	}
	// The last instruction is cut short, or none is there.
	assert_false(probe_place_exits(code, 0x1a, 0x1000, found, &count));
	assert_true(probe_place_exits(code, 0, 0x1000, found, &count));
	assert_int_equal(count, 0);
}

static void exits_at_most(void **state)
{
	struct probe_exit found[PROBE_EXITS_MAX];
	uint8_t code[PROBE_EXITS_MAX + 1];
	size_t count;

	memset(code, RET, sizeof(code));
	assert_true(probe_place_exits(code, PROBE_EXITS_MAX, 0, found, &count));
	assert_int_equal(count, PROBE_EXITS_MAX);
	assert_false(probe_place_exits(code, PROBE_EXITS_MAX + 1, 0, found, &count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(immediates),
		cmocka_unit_test(vectors),
		cmocka_unit_test(invalid),
		cmocka_unit_test(kinds),
		cmocka_unit_test(entries),
		cmocka_unit_test(entries_pass),
		cmocka_unit_test(entries_stop),
		cmocka_unit_test(entries_jumped_to),
		cmocka_unit_test(exits),
		cmocka_unit_test(exits_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
