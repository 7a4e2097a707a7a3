/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_RISCV64_MACHINE_H
#define MALLOW_AGENT_ARCH_RISCV64_MACHINE_H

#include <stdint.h>

/*
 * Of sv57's, too: the kernel gives more than 47 bits only to programs that ask for them. With sv39
 * programs are at 0x2a…, mappings at 0x3f…; with sv48 at 0x5555… and 0x7fff….
 */
#define ARCH_ADDRESS_BITS      47
#define ARCH_MAPPINGS(address) ((address) >> 36 & 1)
#define ARCH_KERNELS_CLOCK     "__vdso_clock_gettime"

static inline uint64_t arch_page(void)
{
	return 4096;
}

static inline uint64_t arch_address(const void *pointer)
{
	return (uint64_t)pointer;
}

#endif
