/*
 * What differs between architectures, under common names: ARCH_….
 *
 * A port is:
 *
 *   unwind/<arch>/registers.h   DWARF's numbers, what the kernel puts where
 *   unwind/<arch>/caller.h      who called a function of ours; both are included below
 *   unwind/<arch>/step.[hc]     one step of a walk; included by arch_step.h
 *   arch/<arch>/                a system call, instructions (one reads a counter of time), the
 *                               first code of a thread, a process and a call on another stack;
 *                               where the agent's memory lies; included by arch/syscall.h,
 *                               arch/instructions.h and arch/stretches.h
 *   meson.build                 of agent and unwind: these files
 *
 * Other files assume x86-64, too: the return address at CFA - 8 of plain rules (cfi/unwind_rule.h;
 * where the return address is in a register, cfi/rule_compile.c has no rule for a leaf function),
 * the red zone (stack_bounds.h), addresses of 47 bits (live_blocks/heads.h, cull_entries.c), pages
 * of 4 KiB, the vDSO's name of clock_gettime (ground/clock.c), fork as a system call
 * (hooks/control.c), one opcode that two architectures read differently (cfi/cfa_program.c).
 * tools/check_agent.py knows the instructions of one architecture. The tests of tests/unwind
 * compare with libgcc's unwinder and libunwind.
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
