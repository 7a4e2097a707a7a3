/*
 * x86-64 under the names of arch.h: DWARF's register numbers (System V ABI, figure 3.36) and what
 * the kernel puts where.
 */
#ifndef MALLOW_AGENT_UNWIND_X86_64_REGISTERS_H
#define MALLOW_AGENT_UNWIND_X86_64_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ARCH_ELF_MACHINE 62 /* EM_X86_64 */

/*
 * The ABI's red zone: an interrupted leaf function may keep words up to this far below sp. A step
 * may read as far below, for the fp of a plain rule.
 */
#define ARCH_RED_ZONE 128

#define ARCH_DWARF_FP        6  /* rbp */
#define ARCH_DWARF_SP        7  /* rsp */
#define ARCH_DWARF_PC        16 /* the return address column */
#define ARCH_DWARF_REGISTERS 17

/*
 * On return from a signal handler sp points at a struct ucontext. These are the offsets in bytes of
 * the interrupted registers in it.
 */
#define ARCH_CONTEXT_FP 120
#define ARCH_CONTEXT_SP 160
#define ARCH_CONTEXT_PC 168

/*
 * Whether the code is the pair of instructions that returns from a signal handler, as in the C
 * library or in Go. size: how many bytes can be read. Where the code has no unwind table (musl,
 * Go), debuggers know it by these bytes, too.
 */
static inline bool arch_is_signal_return(const void *code, uint64_t size)
{
	static const uint8_t mov_rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t mov_eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return (size >= sizeof(mov_rax) && !memcmp(code, mov_rax, sizeof(mov_rax))) ||
	       (size >= sizeof(mov_eax) && !memcmp(code, mov_eax, sizeof(mov_eax)));
}

/*
 * The address of the C library's description of the thread, which lies at the end of the stack that
 * the library made.
 */
static inline uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

#endif
