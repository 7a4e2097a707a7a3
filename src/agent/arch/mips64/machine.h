/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_MIPS64_MACHINE_H
#define MALLOW_AGENT_ARCH_MIPS64_MACHINE_H

#include <stdint.h>

/*
 * Most processors have 40; the kernel gives 48 where it was built for them. Programs are at 0xaaab…
 * or 0x120000000, mappings at 0xff….
 */
#define ARCH_ADDRESS_BITS      48
#define ARCH_MAPPINGS(address) ((address) >> 38 & (address) >> 37 & 1)
#define ARCH_KERNELS_CLOCK     "__vdso_clock_gettime"

#define ARCH_SIGNALS        128
#define ARCH_ACTION_HANDLER 1 /* behind the flags */

/* From MAP_NORESERVE on others: asm/mman.h beside asm-generic/mman.h. */
static inline uint32_t arch_mapping_flags(uint32_t flags)
{
	static const uint32_t others[][2] = {
		{0x0400, 0x4000},   /* MAP_NORESERVE */
		{0x0800, 0x20},     /* MAP_ANONYMOUS */
		{0x1000, 0x100},    /* MAP_GROWSDOWN */
		{0x2000, 0x800},    /* MAP_DENYWRITE */
		{0x4000, 0x1000},   /* MAP_EXECUTABLE */
		{0x8000, 0x2000},   /* MAP_LOCKED */
		{0x10000, 0x8000},  /* MAP_POPULATE */
		{0x20000, 0x10000}, /* MAP_NONBLOCK */
		{0x40000, 0x20000}, /* MAP_STACK */
		{0x80000, 0x40000}, /* MAP_HUGETLB */
	};
	uint32_t result = flags & ~0xffc00u;

	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		result |= flags & others[i][0] ? others[i][1] : 0;
	return result;
}

#define ARCH_DEBUG_PLACE    DT_MIPS_RLD_MAP
#define ARCH_DEBUG_DISTANCE DT_MIPS_RLD_MAP_REL

/* 4, 16 or 64 KiB, as the kernel was built. */
uint64_t arch_page(void);

/* How many bits the addresses of programs have. */
unsigned int arch_space_bits(void);

static inline uint64_t arch_address(const void *pointer)
{
	return (uint64_t)pointer;
}

#endif
