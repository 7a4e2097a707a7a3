/*
 * What differs between architectures, under names that do not: ARCH_… of the file for this one.
 *
 * The next port:
 *  - unwind/<arch>/registers.h: DWARF's numbers, what the kernel puts where; and a line below.
 *  - unwind/<arch>/step.h and .c: one step of a walk; and a line in arch_step.h.
 *  - agent/arch/<arch>: one system call, the first code of a thread, a process and a call on
 * another stack; and a line in agent/arch/syscall.h and atomic_add.h.
 *  - agent/ground/clock.h and .c: its counter, if it has one that can be trusted.
 *  - tests/unwind must pass: they compare with libgcc's unwinder and libunwind.
 */
#ifndef MALLOW_AGENT_UNWIND_ARCH_H
#define MALLOW_AGENT_UNWIND_ARCH_H

#if defined(__x86_64__)
#include "agent/unwind/x86_64/registers.h"
#else
#error "no unwinder for this architecture"
#endif

#endif
