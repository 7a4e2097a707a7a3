/*
 * How long an x86-64 instruction is, and of what kind, as far as placing a probe or a jump needs to
 *know.
 *
 *	f0         48    0f af     84      d8    78 56 34 12     05
 *	prefixes   REX   opcode    ModRM   SIB   displacement    immediate
 *
 * The decoder knows how each opcode is laid out, not what it does. It understands what compilers
 * and assemblers emit today, with VEX, EVEX and XOP. It does not understand APX, bytes that
 * processors of different makers read differently, and most invalid opcodes; some of these it takes
 * for valid.
 */
#ifndef MALLOW_ALLOCATORS_X86_64_INSTRUCTION_H
#define MALLOW_ALLOCATORS_X86_64_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_kind {
	X86_ORDINARY,
	X86_PUSH,          /* of a register */
	X86_NOP,           /* 90 and 0f 1f */
	X86_ENDBR,         /* endbr64 */
	X86_JUMP,          /* to `target` */
	X86_BRANCH,        /* jcc: to `target`, if flags say so */
	X86_LOOP,          /* loop, jrcxz, xbegin: to `target`, for another reason */
	X86_CALL,          /* of `target` */
	X86_RETURN,        /* ret and ret imm16 */
	X86_INDIRECT_JUMP, /* through a register or memory */
	X86_INDIRECT_CALL,
};

/* Prefixes that an instruction has, in x86_instruction.prefixes. */
enum x86_prefix {
	X86_OPERAND_SIZE = 1, /* 66 */
	X86_ADDRESS_SIZE = 2, /* 67 */
	X86_REPNE = 4,        /* f2, also bnd */
	X86_REP = 8,          /* f3 */
	X86_LOCK = 16,        /* f0 */
	X86_SEGMENT = 32,     /* fs and gs */
	X86_OLD_SEGMENT = 64, /* es, cs, ss, ds; also notrack and the hints "taken", "not taken" */
};

/* Bits of x86_instruction.rex: a 64-bit operand, and registers 8 to 15 in the fields reg and rm. */
#define X86_REX_W 8
#define X86_REX_R 4
#define X86_REX_B 1

/* The middle field of the ModRM byte: a register, or which one of the opcode's operations. */
#define X86_OPERATION(insn) ((insn)->modrm >> 3 & 7)

#define X86_OPCODE_VECTOR UINT32_MAX

struct x86_instruction {
	uint8_t length; /* 1 to 15 */
	uint8_t prefixes;
	uint8_t rex;      /* the REX prefix, 40 to 4f; 0: none */
	uint8_t modrm;    /* 0 if the opcode has none */
	uint32_t opcode;  /* 89, 0fb6, 0f3a0f; X86_OPCODE_VECTOR: any behind VEX, EVEX or XOP */
	uint8_t relative; /* where its displacement from rip stands; 0: it has none */
	enum x86_kind kind;
	int64_t target; /* of a jump, branch, loop or call: from the instruction's first byte */
};

static inline bool x86_has_target(const struct x86_instruction *insn)
{
	return insn->kind >= X86_JUMP && insn->kind <= X86_CALL;
}

/*
 * Decodes the instruction at code, of which size bytes may be read. false: it is not understood, or
 * cut short; then *ret is as it was.
 */
bool x86_instruction_decode(const uint8_t *code, size_t size, struct x86_instruction *ret);

#endif
