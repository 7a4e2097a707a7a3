/*
 * What differs between architectures, under common names: ARCH_….
 *
 * A port is these folders, each of the name that Meson has for the architecture. Every name that
 * the files of another one define is wanted.
 *
 * unwind/<cpu>/registers.h: DWARF's numbers, where calls and frames keep the return address, the
 * red zone, what the kernel puts where.
 *
 * unwind/<cpu>/caller.h: who called a function of ours, and what is kept of that caller while a
 * hook runs. Both are included below.
 *
 * base/<cpu>/counter.h: reads the processor's counter of time, for agent and tool.
 *
 * arch/<cpu>: a system call, instructions, the first code of a
 * thread, a process and a call on another stack; numbers of the machine; where the agent's memory
 * lies. The headers of arch/ say what each must do.
 *
 * allocators/<cpu>: instructions, and how a function's entry is patched; none: nothing is patched.
 *
 * Outside of them: the packed rule has two forms (cfi/unwind_rule.h). tools/check_agent.py knows
 * the relocations of each architecture. The tests of tests/unwind compare with
 * libgcc's unwinder and libunwind.
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
