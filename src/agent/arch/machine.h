/*
 * Numbers of a machine and its kernel. One file per architecture:
 *
 *   ARCH_ADDRESS_BITS    a block's address is below 1 << ARCH_ADDRESS_BITS
 *   ARCH_MAPPINGS_BIT    this bit of an address is 0 where Linux puts the heap, and 1 where it puts
 *                        mappings
 *   ARCH_KERNELS_CLOCK   the name of clock_gettime() in the vDSO
 */
#ifndef MALLOW_AGENT_ARCH_MACHINE_H
#define MALLOW_AGENT_ARCH_MACHINE_H

#include "agent/arch/cpu.h"

#include ARCH_FILE(machine.h)

#endif
