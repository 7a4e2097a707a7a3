/*
 * What an architecture's ABI and its kernel say of frames, for all that walk them: names ARCH_….
 * The file of each architecture is cfi/<cpu>/abi.h, of Meson's name of it. Programs for BPF include
 * it, too: no header of the C library.
 *
 *	ARCH_ELF_MACHINE	ELF's number of it (EM_…)
 *	ARCH_WORD		bytes of an address: 4 or 8
 *	ARCH_DWARF_…		registers: SP, FP, PC (the return address's column), REGISTERS
 *	ARCH_LINK_REGISTER	1: calls leave the return address in register PC
 *	ARCH_FRAME_PAIRS	1: frames keep fp and PC as a pair, anywhere; 0: PC a word below the
 *CFA ARCH_FRAME_RECORD	where that pair lies, from where fp leads to ARCH_FRAME_CHAIN	1: it leads
 *from frame to frame; 0: fp is no chain ARCH_CONTEXT_…		SP, FP, PC: of what a signal
 *interrupted, from the sp at which its handler returns arch_context_offset()	the same of
 *registers below ARCH_CONTEXT_REGISTERS arch_strip()		the address that a stored return
 *address stands for
 *	arch_is_signal_return()	code by which handlers return, ARCH_SIGNAL_RETURN_MAX bytes. 0: no;
 *				2: what was interrupted lies ARCH_OLD_CONTEXT bytes nearer
 */
#ifndef MALLOW_CFI_ABI_H
#define MALLOW_CFI_ABI_H

/* As ARCH_FILE(): agent/arch/cpu.h. */
/* clang-format off */
#define CFI_FILE(file) <cfi/MALLOW_CPU/file>
/* clang-format on */

#include CFI_FILE(abi.h)

/* The architecture's struct unwind_registers. */
#define ARCH_UNWIND_REGISTERS                                                                      \
	{                                                                                          \
		.sp = ARCH_DWARF_SP, .fp = ARCH_DWARF_FP, .pc = ARCH_DWARF_PC,                     \
		.count = ARCH_DWARF_REGISTERS, .link = ARCH_LINK_REGISTER,                         \
		.pair = ARCH_FRAME_PAIRS, .word = ARCH_WORD,                                       \
	}

#ifndef ARCH_OLD_CONTEXT
#define ARCH_OLD_CONTEXT 0
#endif

/* The struct unwind_rule of code that arch_is_signal_return(): the kernel saved all registers. */
#define ARCH_SIGNAL_RETURN_RULE(is)                                                                \
	{                                                                                          \
		.kind = RULE_STEP, .signal = 1, .cfa_base = ARCH_DWARF_SP, .cfa_deref = 1,         \
		.cfa_offset = ARCH_CONTEXT_SP - ((is) == 2) * ARCH_OLD_CONTEXT,                    \
		.fp = {RULE_AT, ARCH_DWARF_SP},                                                    \
		.fp_offset = ARCH_CONTEXT_FP - ((is) == 2) * ARCH_OLD_CONTEXT,                     \
		.ra = {RULE_AT, ARCH_DWARF_SP},                                                    \
		.ra_offset = ARCH_CONTEXT_PC - ((is) == 2) * ARCH_OLD_CONTEXT,                     \
	}

#endif
