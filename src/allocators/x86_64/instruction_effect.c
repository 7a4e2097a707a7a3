#include "allocators/x86_64/instruction_effect.h"

/* The general registers, as instructions number them. */
enum x86_register {
	RCX = 1,
	RDX = 2,
	RBX = 3,
	RSP = 4,
	RBP = 5,
	RSI = 6,
	RDI = 7,
	R8 = 8,
	R9 = 9,
	R12 = 12,
};

static const uint8_t order[X86_ARGUMENTS] = {RDI, RSI, RDX, RCX, R8, R9};

/* The registers that must stay as they are: a bit each. */
static uint32_t kept(unsigned int arguments)
{
	uint32_t bits = 1u << RSP | 1u << RBX | 1u << RBP | 15u << R12;

	for (unsigned int i = 0; i < arguments && i < X86_ARGUMENTS; i++)
		bits |= 1u << order[i];
	return bits;
}

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

bool x86_keeps_arguments(const struct x86_instruction *insn, unsigned int arguments)
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
	return !(kept(arguments) >> number & 1);
}

bool x86_runs_twice(const struct x86_instruction *insn, unsigned int arguments, unsigned int needed)
{
	unsigned int reg = X86_OPERATION(insn) + (insn->rex & X86_REX_R ? 8u : 0);
	unsigned int rm = (insn->modrm & 7) + (insn->rex & X86_REX_B ? 8u : 0);
	unsigned int to = insn->opcode == 0x8b ? reg : rm;

	if (x86_keeps_arguments(insn, arguments))
		return true;
	if (insn->kind != X86_ORDINARY || (insn->opcode != 0x89 && insn->opcode != 0x8b) ||
	    insn->modrm >> 6 != 3 || insn->prefixes || reg == rm)
		return false;
	for (unsigned int i = 0; i < arguments && i < X86_ARGUMENTS; i++)
		if (order[i] == to)
			return !(needed >> i & 1);
	return false;
}
