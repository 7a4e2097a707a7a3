/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_AARCH64_MACHINE_H
#define MALLOW_AGENT_ARCH_AARCH64_MACHINE_H

#include <stdint.h>

/* The most that the kernel gives to programs that do not ask for more. */
#define ARCH_ADDRESS_BITS      48
/*
 * In a space of 48 bits programs and heaps are at 0xaaaa…, mappings at 0xffff…; in one of 47 (pages
 * of 16 KiB) at 0x5555… and 0x7fff….
 */
#define ARCH_MAPPINGS(address) ((address) >> 46 & (address) >> 45 & 1)
#define ARCH_KERNELS_CLOCK     "__kernel_clock_gettime"
#define ARCH_PROBE_FIRST       "x0"
#define ARCH_PROBE_SECOND      "x1"
#define ARCH_PROBE_THIRD       "x2"
#define ARCH_PROBE_MARK        ""

/* 4, 16 or 64 KiB, as the kernel was built. */
uint64_t arch_page(void);

/* How many bits the addresses of programs have: 39, 42, 47 or 48. */
unsigned int arch_space_bits(void);

/* The top byte may hold a tag: by MTE (glibc.mem.tagging), or the program's own. */
static inline uint64_t arch_address(const void *pointer)
{
	return (uint64_t)pointer & UINT64_MAX >> 8;
}

#endif
