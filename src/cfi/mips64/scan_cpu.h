/* MIPS64's registers as scan.c asks of them: System V ABI, and SGI's of n64. A bit for each. */
#ifndef MALLOW_CFI_MIPS64_SCAN_CPU_H
#define MALLOW_CFI_MIPS64_SCAN_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define SCAN_UNIT       4 /* bytes of an instruction */
#define SCAN_DELAY      1 /* behind a call or a jump one more is executed */
#define SCAN_CONDITIONS 0 /* none depends on a condition */
#define SCAN_JUMPS_AWAY 0 /* b stays within a function */
#define SCAN_ZERO       0

/* Frames are made by fp; there is no second one. */
#define SCAN_FRAME(code) ARCH_DWARF_FP
#define SCAN_FP2         SCAN_ZERO
#define SCAN_STATE_REGISTERS                                                                       \
	{                                                                                          \
		ARCH_DWARF_PC, ARCH_DWARF_FP                                                       \
	}

/* A call keeps these: zero, s0 to s7, gp, sp, s8. */
#define SCAN_KEPT 0x70ff0001u

/* Functions save these of their callers: s0 to s7, gp, s8, ra. */
#define SCAN_SAVED 0xd0ff0000u

/* No function reads these before it writes them: at, v0, v1, t0 to t2, t8, s0 to s8, gp. */
#define SCAN_NOT_ARGUMENTS 0x51ff700eu

/* t9, by which functions of shared libraries are called. */
#define SCAN_FUNCTION 25

/* Functions begin at multiples of this. */
#define SCAN_ALIGNMENT 8

#define SCAN_POOL_FOLLOWS(code) false

/* b is for jumps within a function. */
#define SCAN_MAY_BEGIN_WITH_JUMP(code, target)                                                     \
	((target) > (code)->address && is_inside(code, target))

static inline bool scan_is_filling(uint32_t word, uint64_t address)
{
	return word == 0 && address % SCAN_ALIGNMENT != 0;
}

#endif
