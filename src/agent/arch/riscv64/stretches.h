#ifndef MALLOW_AGENT_ARCH_RISCV64_STRETCHES_H
#define MALLOW_AGENT_ARCH_RISCV64_STRETCHES_H

#define ARCH_STRETCH_SIZE 0x100000000u /* 4 GiB: sv39 has 256 */

/* Behind position-independent programs of sv39 (0x2aaaaaa000) and their heaps; free with sv48. */
#define ARCH_STRETCH_NEAR 0x3000000000u
/* Nearer to the mappings, which end at 0x3fffffffff. */
#define ARCH_STRETCH_FAR  0x3400000000u

/* The near stretch is taken if the heap (brk) ends as far below it, or farther. */
#define ARCH_STRETCH_DISTANCE 0x40000000u

#endif
