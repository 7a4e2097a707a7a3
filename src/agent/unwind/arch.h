/*
 * What differs between architectures, under common names: ARCH_….
 *
 * A port is these folders, of the name that Meson has for the architecture:
 *
 *   unwind/<arch>/registers.h   DWARF's numbers, the red zone, what the kernel puts where
 *   unwind/<arch>/caller.h      who called a function of ours, and what is kept of that caller
 * while a hook runs; both are included below unwind/<arch>/step.[hc]     one step of a walk, and
 * where a plain rule finds its words; included by arch_step.h arch/<arch>/                a system
 * call, instructions (one reads a counter of time), the first code of a thread, a process and a
 * call on another stack; numbers of the machine; where the agent's memory lies; included by
 *                               arch/syscall.h, instructions.h, machine.h and stretches.h
 *   ../allocators/<arch>/       instructions, and how a function's entry is patched
 *
 * Other files assume x86-64, too: the return address at CFA - 8 of plain rules (cfi/unwind_rule.h;
 * where the return address is in a register, cfi/rule_compile.c has no rule for a leaf function),
 * pages of 4 KiB, one opcode that two architectures read differently (cfi/cfa_program.c).
 * tools/check_agent.py knows the instructions of one architecture. The tests of tests/unwind
 * compare with libgcc's unwinder and libunwind.
 */
#ifndef MALLOW_AGENT_UNWIND_ARCH_H
#define MALLOW_AGENT_UNWIND_ARCH_H

/* As ARCH_FILE(): arch/cpu.h. */
/* clang-format off */
#define UNWIND_FILE(file) <agent/unwind/MALLOW_CPU/file>
/* clang-format on */

#include UNWIND_FILE(caller.h)
#include UNWIND_FILE(registers.h)

#endif
