/*
 * What differs between architectures, under names that do not: ARCH_… of the file for this one.
 *
 * The next port:
 *  - unwind/<arch>/registers.h: DWARF's numbers, what the kernel puts where; caller.h: who called a
 *    function of ours; and lines below.
 *  - unwind/<arch>/step.h and .c: one step of a walk; and a line in arch_step.h.
 *  - arch/<arch>: one system call, some instructions (its counter of time among them), the first
 * code of a thread, a process and a call on another stack; and lines in arch/syscall.h,
 * instructions.h.
 *  - tests/unwind must pass: they compare with libgcc's unwinder and libunwind.
 */
#ifndef MALLOW_AGENT_UNWIND_ARCH_H
#define MALLOW_AGENT_UNWIND_ARCH_H

#if defined(__x86_64__)
#include "agent/unwind/x86_64/caller.h"
#include "agent/unwind/x86_64/registers.h"
#else
#error "no unwinder for this architecture"
#endif

#endif
