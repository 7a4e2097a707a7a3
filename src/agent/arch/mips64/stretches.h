#ifndef MALLOW_AGENT_ARCH_MIPS64_STRETCHES_H
#define MALLOW_AGENT_ARCH_MIPS64_STRETCHES_H

#define ARCH_STRETCH_SIZE 0x100000000u /* 4 GiB: the space has 1 TiB */

/*
 * Position-independent programs are at 0xaaab000000, two thirds of the space, or others at
 * 0x120000000; their heaps are behind them. Mappings end at 0xfffffff000.
 */
#define ARCH_STRETCH_NEAR 0xb000000000u
#define ARCH_STRETCH_FAR  0xc000000000u

/* The near stretch is taken if the heap (brk) ends as far below it, or farther. */
#define ARCH_STRETCH_DISTANCE 0x40000000u

#endif
