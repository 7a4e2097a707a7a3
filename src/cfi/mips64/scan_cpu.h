/* MIPS64's registers as scan.c asks of them: System V ABI, and SGI's of n64. A bit for each. */
#ifndef MALLOW_CFI_MIPS64_SCAN_CPU_H
#define MALLOW_CFI_MIPS64_SCAN_CPU_H

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

#endif
