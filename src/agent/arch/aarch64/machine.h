/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_AARCH64_MACHINE_H
#define MALLOW_AGENT_ARCH_AARCH64_MACHINE_H

/* Programs and heaps are at 0xaaaa…, mappings at 0xffff…: bit 47 is set in both. */
#define ARCH_ADDRESS_BITS  48
#define ARCH_MAPPINGS_BIT  46
#define ARCH_KERNELS_CLOCK "__kernel_clock_gettime"

#endif
