/* See arch/machine.h. */
#ifndef MALLOW_AGENT_ARCH_X86_64_MACHINE_H
#define MALLOW_AGENT_ARCH_X86_64_MACHINE_H

#define ARCH_ADDRESS_BITS  47
#define ARCH_MAPPINGS_BIT  45
#define ARCH_KERNELS_CLOCK "__vdso_clock_gettime"

#endif
