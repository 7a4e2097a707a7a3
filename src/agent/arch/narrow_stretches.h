/*
 * Stretches of a space of 3 or 4 GiB: behind programs and their heaps, which begin below
 * 0x58000000, and half way to the mappings, which grow downwards from 0xb8000000 or higher.
 */
#ifndef MALLOW_AGENT_ARCH_NARROW_STRETCHES_H
#define MALLOW_AGENT_ARCH_NARROW_STRETCHES_H

#define ARCH_STRETCH_SIZE 0x18000000u /* 384 MiB */

#define ARCH_STRETCH_NEAR 0x68000000u
#define ARCH_STRETCH_FAR  0x80000000u

/* The near stretch is taken if the heap (brk) ends as far below it, or farther. */
#define ARCH_STRETCH_DISTANCE 0x08000000u

#endif
