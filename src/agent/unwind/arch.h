/*
 * What differs between architectures, under names that do not: ARCH_… of the file for this one.
 *
 * The next port:
 *  - <arch>.h here: DWARF's numbers, what the kernel puts where; and a line below.
 *  - <arch>_step.h and .c here: one step of a walk; and a line in arch_step.h.
 *  - agent/syscall_<arch>.h: one system call; and a line in agent/syscall.h.
 *  - agent/trampoline_<arch>.c: the first code of a thread.
 *  - agent/clock.h and .c: its counter, if it has one that can be trusted.
 *  - tests/unwind must pass: they compare with libgcc's unwinder and libunwind.
 */
#ifndef MALLOW_AGENT_UNWIND_ARCH_H
#define MALLOW_AGENT_UNWIND_ARCH_H

#if defined(__x86_64__)
#include "agent/unwind/x86_64.h"
#else
#error "no unwinder for this architecture"
#endif

#endif
