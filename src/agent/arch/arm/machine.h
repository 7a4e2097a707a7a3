/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_ARM_MACHINE_H
#define MALLOW_AGENT_ARCH_ARM_MACHINE_H

#include <stdint.h>

/* Programs and their heaps are at the bottom, mappings below 0xbf00…, or the end under a kernel of
 * 64 bits. */
#define ARCH_ADDRESS_BITS      32
#define ARCH_MAPPINGS(address) ((address) >> 31 & 1)
#define ARCH_KERNELS_CLOCK     "__vdso_clock_gettime64"

/* File offsets are in a pair of registers that begins at an even one. */
#define ARCH_OFFSETS_ALIGNED

#define ARCH_TABLES_SEGMENT PT_ARM_EXIDX

/* Kernels of 64 bits may have larger ones, and then run no program of 32. */
static inline uint64_t arch_page(void)
{
	return 4096;
}

static inline uint64_t arch_address(const void *pointer)
{
	return (uintptr_t)pointer;
}

#endif
