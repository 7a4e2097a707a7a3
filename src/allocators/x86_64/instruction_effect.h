/* What an instruction changes, as far as it matters at the beginning of a function. */
#ifndef MALLOW_ALLOCATORS_X86_64_INSTRUCTION_EFFECT_H
#define MALLOW_ALLOCATORS_X86_64_INSTRUCTION_EFFECT_H

#include "allocators/x86_64/instruction.h"

#define X86_ARGUMENTS 6 /* so many are in registers: rdi, rsi, rdx, rcx, r8, r9 */

/*
 * Whether the instruction is no jump, and leaves rsp, memory and the registers of so many arguments
 * as they are, and those that a function must keep. So it may run twice at the beginning of a
 * function. false for what is not in the list: it has what compilers put before the first push, and
 * some of that kind.
 */
bool x86_keeps_arguments(const struct x86_instruction *insn, unsigned int arguments);

/*
 * The same, or the instruction only copies a register into that of an argument that is not needed
 * between the two times: the second time does the same. needed: a bit for each argument, the first
 * one is bit 0.
 */
bool x86_runs_twice(const struct x86_instruction *insn, unsigned int arguments,
		    unsigned int needed);

#endif
