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
 *   ARCH_SIGNALS         how many signals the kernel has
 *   ARCH_ACTION_HANDLER  the word of the kernel's struct sigaction that has the handler
 *   arch_mapping_flags() mmap()'s flags, as they are on most machines: recordings have these
 *   ARCH_TABLES_SEGMENT  the program header that says where the unwind tables are
 *   ARCH_PROBE_FIRST …   the registers in which a probe has its arguments, and what notes of probes
 *   ARCH_PROBE_MARK      write before a register's name; not defined: there are no probes
 *   ARCH_DEBUG_PLACE, ARCH_DEBUG_DISTANCE
 *                        where loaders cannot write to DT_DEBUG: tags of the place, and of its
 *                        distance, of what that would point to
 */
#ifndef MALLOW_AGENT_ARCH_MACHINE_H
#define MALLOW_AGENT_ARCH_MACHINE_H

#include "agent/arch/cpu.h"

#include ARCH_FILE(machine.h)

/* The class of ELF files that processes can have. */
#define ARCH_ELF_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

#ifndef ARCH_TABLES_SEGMENT
#define ARCH_TABLES_SEGMENT PT_GNU_EH_FRAME
#endif

#ifndef ARCH_DEBUG_PLACE
#define ARCH_DEBUG_PLACE    DT_NULL
#define ARCH_DEBUG_DISTANCE DT_NULL
#endif

#ifndef ARCH_SIGNALS
#define ARCH_SIGNALS        64
#define ARCH_ACTION_HANDLER 0

static inline uint32_t arch_mapping_flags(uint32_t flags)
{
	return flags;
}
#endif

/* The kernel's set of signals. */
struct signal_set {
	uint64_t words[ARCH_SIGNALS / 64];
};

#endif
