#ifndef MALLOW_AGENT_ARCH_X86_64_STRETCHES_H
#define MALLOW_AGENT_ARCH_X86_64_STRETCHES_H

#define ARCH_STRETCH_SIZE 0x1000000000u /* 64 GiB */

/*
 * Behind position-independent programs and their heaps (0x555555554000 + up to 1 TiB, as the kernel
 * spreads them by default), where the sanitizers expect such programs.
 */
#define ARCH_STRETCH_NEAR 0x567000000000u
/*
 * Behind programs that the kernel spreads over 16 TiB (vm.mmap_rnd_bits=32), below the lowest base
 * of mmap() then, which is 0x6fff00000000.
 */
#define ARCH_STRETCH_FAR  0x678000000000u

/* The near stretch is taken if the heap (brk) ends as far below it, or farther. */
#define ARCH_STRETCH_DISTANCE 0x1000000000u

#endif
