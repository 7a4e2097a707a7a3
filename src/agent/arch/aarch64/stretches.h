#ifndef MALLOW_AGENT_ARCH_AARCH64_STRETCHES_H
#define MALLOW_AGENT_ARCH_AARCH64_STRETCHES_H

#include "agent/arch/machine.h"

#define ARCH_STRETCH_SIZE 0x1000000000u /* 64 GiB */

/*
 * Behind position-independent programs and their heaps (0xaaaaaaaaa000 and up to 2 GiB, as the
 * kernel spreads them by default). These are places in a space of 48 bits. The kernel lays out a
 * smaller one in the same proportions: programs begin at two thirds of it.
 */
#define ARCH_STRETCH_NEAR (UINT64_C(0xab8000000000) >> (48 - arch_space_bits()))
/*
 * Behind programs that the kernel spreads over 32 TiB (vm.mmap_rnd_bits=33), below the lowest base
 * of mmap() then, which is 0xdfff00000000.
 */
#define ARCH_STRETCH_FAR  (UINT64_C(0xcb8000000000) >> (48 - arch_space_bits()))

/* The near stretch is taken if the heap (brk) ends as far below it, or farther. */
#define ARCH_STRETCH_DISTANCE 0x1000000000u

#endif
