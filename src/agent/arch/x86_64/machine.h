/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_X86_64_MACHINE_H
#define MALLOW_AGENT_ARCH_X86_64_MACHINE_H

#include <stdint.h>

#define ARCH_ADDRESS_BITS      47
#define ARCH_MAPPINGS(address) ((address) >> 45 & 1)
#define ARCH_KERNELS_CLOCK     "__vdso_clock_gettime"
#define ARCH_PROBE_FIRST       "rdi"
#define ARCH_PROBE_SECOND      "rsi"
#define ARCH_PROBE_THIRD       "rdx"
#define ARCH_PROBE_MARK        "%%"

static inline uint64_t arch_page(void)
{
	return 4096;
}

static inline uint64_t arch_address(const void *pointer)
{
	return (uint64_t)pointer;
}

#endif
