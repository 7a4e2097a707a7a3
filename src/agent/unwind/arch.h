/*
 * What differs between architectures, under common names: ARCH_…. And the list of what a port is.
 *
 * In src, folders of the name that Meson has for the architecture, which finds them by it:
 *
 * cfi/<cpu>/abi.h: the names of cfi/abi.h: DWARF's numbers (below 32), where calls and frames keep
 * the return address, what the kernel puts where. ARCH_FRAME_PAIRS chooses the form of packed rules
 * (cfi/unwind_rule.h). cfi/cfa_program.c: the vendor's DWARF opcodes, if compilers emit them.
 *
 * agent/unwind/<cpu>/registers.h: what the agent's own walk needs beside them.
 *	ARCH_RED_ZONE		bytes below sp that belong to a function
 *	ARCH_TRACKED		registers besides sp and fp that functions need to find their
 * caller, most machines have none; and how they are counted and taken
 *	arch_return_word()	the word that a pc was read from: the pc, if nothing is signed
 *	arch_is_behind_call()	whether a call ends before this code, of ARCH_CALL_MAX bytes
 *	arch_thread_pointer()	what the C library keeps for the thread
 *	arch_is_context_end()	whether this code, of ARCH_CONTEXT_END bytes, is the outermost frame
 *				though tables say otherwise; not there: there is no such code
 *
 * agent/unwind/<cpu>/caller.h: who called a function of ours, and what is kept of that caller while
 * a hook runs. Where calls leave the return address in a register it includes linked_caller.h, else
 * pushed_caller.h. The three are included below.
 *
 * Where unwind tables are of another form than .eh_frame: an answer to agent/unwind/tables.h.
 *
 * cfi/<cpu>/scan_decode.c and scan_cpu.h: for machines whose libraries have no unwind tables: their
 * instructions, as cfi/scan.h wants them. agent/unwind/scanned.c says what code counts from;
 * cfi/arm/scan_starts.c is for code that does not name its starts.
 *
 * base/<cpu>/counter.h: the processor's counter of time, as base/counter.h wants it.
 *
 * agent/arch/<cpu>: system calls, instructions, the first code of a thread, a process and a call on
 * another stack, numbers of the machine, where the agent's memory lies. The headers of arch/ say
 * what each must do; plain_call.c and auxiliary.c are shared.
 *
 * allocators/<cpu>: how a function's entry is patched; without the folder nothing is. With it come
 * agent/arch/<cpu>/patched_entry.c, and ELF's number in agent/patch/patch_file.c.
 *
 * ebpf/arch/<cpu>: machine.h, probe_place.c (tested on any machine: tests/unit/ebpf) and
 * registers.bpf.h, as the headers of these names in ebpf/arch and ebpf/bpf want them; without the
 * folder `mallow memleak` and `mallow attach` are not built. What says where they are: cli/memleak.
 *
 * Elsewhere in src:
 *
 * Words of 32 bits: arch/kernel_forms.h, ARCH_OFFSETS_ALIGNED (docs/adr/0036).
 *
 * System calls that the architecture lacks: agent/arch/syscall.h, record/timed_write.c and helper
 * call them; hooks and life compare numbers with them, in #ifdef. arch/machine.h: where signals,
 * struct sigaction and mmap()'s flags differ (MIPS); ARCH_KERNEL_STAT. agent/meson.build:
 * auxiliary.c, what the hooks are compiled with to know their callers' fp, the hash of symbols; it
 * tries whether atomics and bits need libgcc or libatomic; static programs want these then, too.
 * Addresses of more than 48 bits: ebpf/bpf/walk.bpf.h, ebpf/record/record_code.h,
 * analysis/load/address_table.h. The vDSO's data: agent/ground/clock.c. ELF's number and the name:
 * report/words/machine_name.c.
 *
 * Tools: check_rooms.py, CPU_FOLDER and the compiler's macro in CPU_QUESTION; check_agent.py,
 * whether its pattern fits the relocations of thread-local variables; packages.txt, [cross-<cpu>]
 * (the compiler) and [guest-<cpu>] (qemu); cross/architectures.txt: Debian's names, the compiler's,
 * Meson's; cross/sysroot.sh: a release that has it. Makefile: check-long, help.
 *
 * Tests: e2e/lib/guest.py, how to boot it; what is skipped by name in e2e/ports and
 * e2e/record/test_samples.py. e2e/ports/test_stacks.py compares with libgcc. Samples with functions
 * in assembler are x86-64's, as is tests/unwind. embed has questions of its own.
 *
 * Documents: ports.md, README.md, CHANGELOG.md, memleak.md, RELIABILITY.md (where memory lies).
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
