/*
 * What differs between architectures, under common names: ARCH_….
 *
 * A port is these folders, each of the name that Meson has for the architecture. Every name that
 * the files of another one define is wanted.
 *
 * cfi/<cpu>/abi.h: DWARF's numbers, where calls and frames keep the return address, what the kernel
 * puts where. The BPF programs walk by these, too.
 *
 * unwind/<cpu>/registers.h: what the agent's own walk needs beside them: the red zone, calls before
 * a return address, registers that are tracked.
 *
 * unwind/<cpu>/caller.h: who called a function of ours, and what is kept of that caller while a
 * hook runs. The three are included below.
 *
 * base/<cpu>/counter.h: reads the processor's counter of time, for agent and tool.
 *
 * arch/<cpu>: a system call, instructions, the first code of a
 * thread, a process and a call on another stack; numbers of the machine; where the agent's memory
 * lies. The headers of arch/ say what each must do.
 *
 * allocators/<cpu>: instructions, and how a function's entry is patched; none: nothing is patched.
 *
 * ebpf/arch/<cpu>: registers and instructions of probed functions; none: `mallow memleak` and
 * `mallow attach` are not built.
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

#include "cfi/abi.h"

#endif
