/*
 * Numbers of a machine and its kernel. One file per architecture:
 *
 *   ARCH_ADDRESS_BITS    a block's address is below 1 << ARCH_ADDRESS_BITS
 *   ARCH_MAPPINGS()      of an address: 0 where Linux puts the heap, 1 where it puts mappings
 *   ARCH_KERNELS_CLOCK   the name of clock_gettime() in the vDSO
 *   arch_page()          the size of the kernel's pages: 4096, or a multiple. A constant where
 *                        kernels have one size, so that it costs nothing there
 *   arch_address()       the address in a pointer, without a tag that the processor passes over:
 *                        pointers to one block may have several tags
 */
#ifndef MALLOW_AGENT_ARCH_MACHINE_H
#define MALLOW_AGENT_ARCH_MACHINE_H

#include "agent/arch/cpu.h"

#include ARCH_FILE(machine.h)

#endif
