/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_X86_MACHINE_H
#define MALLOW_AGENT_ARCH_X86_MACHINE_H

#include <stdint.h>

/* Programs are at 0x0804… or 0x565…, mappings below 0xc000… or the end. */
#define ARCH_ADDRESS_BITS      32
#define ARCH_MAPPINGS(address) ((address) >> 31 & 1)
#define ARCH_KERNELS_CLOCK     "__vdso_clock_gettime64"

static inline uint64_t arch_page(void)
{
	return 4096;
}

static inline uint64_t arch_address(const void *pointer)
{
	return (uintptr_t)pointer;
}

#endif
