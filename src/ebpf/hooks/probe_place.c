#include "ebpf/hooks/probe_place.h"

#include <string.h>

#include "base/compiler.h"
#include "ebpf/hooks/x86_instruction.h"

/* The general registers, as instructions number them. */
enum x86_register {
	RCX = 1,
	RDX = 2,
	RSP = 4,
	RSI = 6,
	RDI = 7,
	R8 = 8,
	R9 = 9,
};

/* One bit each: the registers that must be at the probe as they are at the function's entry. */
#define KEPT (1u << RSP | 1u << RDI | 1u << RSI | 1u << RDX | 1u << RCX | 1u << R8 | 1u << R9)

/* What an instruction writes, beside flags. */
enum result {
	RESULT_UNKNOWN,  /* not in the list, or more than one place */
	RESULT_NONE,     /* it only compares */
	RESULT_REG,      /* the register in the ModRM byte's field reg */
	RESULT_RM,       /* what its field rm names, a register or memory */
	RESULT_LOW_BITS, /* the register in the opcode's low bits */
};

/* The list: what compilers put before the first push, and some of that kind. */
static enum result result_of(const struct x86_instruction *insn)
{
	switch (insn->opcode) {
	case 0x38 ... 0x3d: // cmp
	case 0x84 ... 0x85: // test
	case 0xa8 ... 0xa9:
	case 0x0fa3: // bt
		return RESULT_NONE;
	case 0x00 ... 0x03: // add
	case 0x08 ... 0x0b: // or
	case 0x20 ... 0x23: // and
	case 0x28 ... 0x2b: // sub
	case 0x30 ... 0x33: // xor
	case 0x88 ... 0x8b: // mov
		return insn->opcode & 2 ? RESULT_REG : RESULT_RM;
	case 0x63:              // movsxd
	case 0x8d:              // lea
	case 0x0f40 ... 0x0f4f: // cmov
	case 0x0fb6 ... 0x0fb7: // movzx
	case 0x0fbe ... 0x0fbf: // movsx
		return RESULT_REG;
	case 0x80 ... 0x83: // add … cmp of an immediate
		return X86_OPERATION(insn) == 7 ? RESULT_NONE : RESULT_RM;
	case 0xf6 ... 0xf7: // test of an immediate, not, neg; then products
		return X86_OPERATION(insn) < 2   ? RESULT_NONE
		       : X86_OPERATION(insn) < 4 ? RESULT_RM
						 : RESULT_UNKNOWN;
	case 0xc6 ... 0xc7: // mov of an immediate; one of the others is xabort
		return X86_OPERATION(insn) == 0 ? RESULT_RM : RESULT_UNKNOWN;
	case 0xc0 ... 0xc1:     // shifts
	case 0xd0 ... 0xd3:     // shifts
	case 0x0f90 ... 0x0f9f: // set
		return RESULT_RM;
	case 0xb0 ... 0xbf: // mov of an immediate
		return RESULT_LOW_BITS;
	default:
		return RESULT_UNKNOWN;
	}
}

/* The result is a byte. Then registers 4 to 7 are ah, ch, dh and bh, if REX is absent. */
static bool writes_byte(const struct x86_instruction *insn)
{
	if (insn->opcode >= 0xb0 && insn->opcode <= 0xbf)
		return insn->opcode < 0xb8;
	if (insn->opcode >= 0x0f00)
		return insn->opcode >> 4 == 0x0f9;
	return insn->opcode != 0x8d && insn->opcode != 0x63 && !(insn->opcode & 1);
}

/* The instruction is no jump, and leaves rsp, arguments and memory as they are. */
static bool can_pass(const struct x86_instruction *insn)
{
	unsigned int number, high;

	if (insn->kind == X86_NOP || insn->kind == X86_ENDBR)
		return true;
	if (insn->kind != X86_ORDINARY)
		return false;
	switch (result_of(insn)) {
	case RESULT_NONE:
		return true;
	case RESULT_REG:
		number = X86_OPERATION(insn);
		high = X86_REX_R;
		break;
	case RESULT_RM:
		if (insn->modrm >> 6 != 3)
			return false;
		number = insn->modrm & 7;
		high = X86_REX_B;
		break;
	case RESULT_LOW_BITS:
		number = insn->opcode & 7;
		high = X86_REX_B;
		break;
	default:
		return false;
	}
	if (writes_byte(insn) && !insn->rex)
		number &= 3;
	if (insn->rex & high)
		number += 8;
	return !(KEPT >> number & 1);
}

/*
 * The nops that Linux emulates, by their length: all nine since 6.16, the first two before that.
 * Any other nop is passed.
 */
static bool is_known_nop(const uint8_t *code, size_t length)
{
	static const uint8_t nops[][9] = {
		{0x90},
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40},
		{0x0f, 0x1f, 0x44},
		{0x66, 0x0f, 0x1f, 0x44},
		{0x0f, 0x1f, 0x80},
		{0x0f, 0x1f, 0x84},
		{0x66, 0x0f, 0x1f, 0x84},
	};

	return length <= ARRAY_COUNT(nops) && !memcmp(code, nops[length - 1], length);
}

/* As Linux decides in arch/x86/kernel/uprobes.c. It refuses probes at the first two prefixes. */
static bool kernel_emulates(const uint8_t *code, const struct x86_instruction *insn)
{
	if (insn->prefixes & (X86_LOCK | X86_OLD_SEGMENT))
		return false;
	switch (insn->kind) {
	case X86_PUSH:
		return insn->length == 1 || (insn->length == 2 && insn->rex == 0x41);
	case X86_NOP:
		return is_known_nop(code, insn->length);
	case X86_JUMP:
	case X86_BRANCH:
	case X86_CALL:
		return !(insn->prefixes & X86_OPERAND_SIZE);
	default:
		return false;
	}
}

/* No jump in the function leads to a place after its first byte, up to `last`. */
static bool is_straight(const uint8_t *code, size_t size, size_t last)
{
	struct x86_instruction insn;

	for (size_t at = 0; at < size; at += insn.length) {
		if (!x86_instruction_decode(code + at, size - at, &insn))
			return false;
		if (x86_has_target(&insn) && (uint64_t)at + (uint64_t)insn.target - 1 < last)
			return false;
	}
	return true;
}

size_t probe_place_entry(const uint8_t *code, size_t size)
{
	struct x86_instruction insn;

	for (size_t at = 0; at < size; at += insn.length) {
		if (!x86_instruction_decode(code + at, size - at, &insn))
			return 0;
		if (kernel_emulates(code + at, &insn))
			return at && is_straight(code, size, at) ? at : 0;
		if (!can_pass(&insn))
			return 0;
	}
	return 0;
}

size_t probe_place_exits(const uint8_t *code, size_t size, uint64_t address,
			 struct probe_exit ret[PROBE_EXITS_MAX])
{
	struct x86_instruction insn;
	size_t count = 0;

	if (size > UINT32_MAX)
		return 0;
	for (size_t at = 0; at < size; at += insn.length) {
		uint64_t target;
		bool jumps;

		if (!x86_instruction_decode(code + at, size - at, &insn))
			return 0;
		target =
			at + (uint64_t)insn.target; // before the function: wraps, so not below size
		jumps = (insn.kind == X86_JUMP || insn.kind == X86_BRANCH) && target >= size;
		if (!jumps && insn.kind != X86_RETURN)
			continue;
		if (count == PROBE_EXITS_MAX)
			return 0;
		ret[count++] = (struct probe_exit){
			.offset = (uint32_t)at,
			.jumps = jumps,
			.target = jumps ? address + target : 0,
		};
	}
	return count;
}
