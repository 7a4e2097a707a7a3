/* ARM's registers and code as scan.c asks of them: AAPCS32 (Arm's IHI 0042). A bit for each. */
#ifndef MALLOW_CFI_ARM_SCAN_CPU_H
#define MALLOW_CFI_ARM_SCAN_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define SCAN_UNIT       2 /* bytes of the shortest instruction */
#define SCAN_DELAY      0
#define SCAN_CONDITIONS 1
#define SCAN_JUMPS_AWAY 1 /* b leads to other functions, too */

/* Registers that the machine does not have: one that is 0, and the flags. */
#define SCAN_ZERO  16
#define SCAN_FLAGS 17

#define SCAN_FRAME(code) ((code)->thumb ? ARCH_DWARF_FP : ARCH_DWARF_FP2)
#define SCAN_FP2         ARCH_DWARF_FP2
#define SCAN_STATE_REGISTERS                                                                       \
	{                                                                                          \
		ARCH_DWARF_PC, ARCH_DWARF_FP, ARCH_DWARF_FP2                                       \
	}

/* A call keeps these: r4 to r11, sp, zero. */
#define SCAN_KEPT 0x12ff0u

/* Functions that call save lr. */
#define SCAN_SAVED 0x4000u

/* No function reads these before it writes them: r4 to r12, the flags. */
#define SCAN_NOT_ARGUMENTS 0x21ff0u

/* Functions are called by no certain register. */
#define SCAN_FUNCTION 31

/* Functions begin at multiples of this. */
#define SCAN_ALIGNMENT 2

/* What follows a jump may be data of code farther on: ARM code's, which reaches backwards. */
#define SCAN_POOL_FOLLOWS(code) (!(code)->thumb)

/* Starts of functions are marked. */
#define SCAN_MARKS 1

/* b leads to other functions, too: those that begin elsewhere. Near ones behind are loops. */
#define SCAN_MAY_BEGIN_WITH_JUMP(code, target)                                                     \
	(!is_inside(code, target) &&                                                               \
	 ((target) > (code)->address || (code)->address - (target) > 4096))

/* address, bit 0: Thumb code. */
static inline bool scan_is_filling(uint32_t word, uint64_t address)
{
	if (address & 1)
		return (uint16_t)word == 0xbf00 || (uint16_t)word == 0;
	return address % 4 != 0 || word == 0xe320f000 || word == 0xe1a00000 || word == 0;
}

#endif
