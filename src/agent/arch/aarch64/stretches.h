#ifndef MALLOW_AGENT_ARCH_AARCH64_STRETCHES_H
#define MALLOW_AGENT_ARCH_AARCH64_STRETCHES_H

#define ARCH_STRETCH_SIZE 0x1000000000u /* 64 GiB */

/*
 * Behind position-independent programs and their heaps (0xaaaaaaaaa000 and up to 2 GiB, as the
 * kernel spreads them by default). Kernels with addresses of 39 or 42 bits have neither stretch:
 * the agent's memory is then where the kernel puts it.
 */
#define ARCH_STRETCH_NEAR 0xab8000000000u
/*
 * Behind programs that the kernel spreads over 32 TiB (vm.mmap_rnd_bits=33), below the lowest base
 * of mmap() then, which is 0xdfff00000000.
 */
#define ARCH_STRETCH_FAR  0xcb8000000000u

/* The near stretch is taken if the heap (brk) ends as far below it, or farther. */
#define ARCH_STRETCH_DISTANCE 0x1000000000u

#endif
