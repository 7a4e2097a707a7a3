/*
 * See patched_entry.h. The stub has pushed rbp and put the cell's address there. At rsp is then a
 * struct patched_call (patch/patched.h).
 */
#include "agent/arch/patched_entry.h"

#include "agent/arch/syscall.h"
#include "agent/arch/x86_64/vectors.h"

/* clang-format off */
#define ENTRY(name, room, save, load)                                                              \
	".hidden " name "\n"                                                                       \
	".globl " name "\n"                                                                        \
	".type " name ", @function\n"                                                              \
	name ":\n"                                                                                 \
	"	.cfi_startproc\n"                                                                  \
	"	.cfi_def_cfa_offset 16\n"                                                          \
	"	.cfi_offset %rbp, -16\n"                                                           \
	"	endbr64\n"                                                                         \
	"	push %r11\n"                                                                       \
	"	.cfi_adjust_cfa_offset 8\n"                                                        \
	"	mov %rbp, %r11\n"                                                                  \
	"	lea 8(%rsp), %rbp\n"                                                               \
	"	.cfi_def_cfa %rbp, 16\n"                                                           \
	"	sub $" room ", %rsp\n"                                                             \
	"	and $-16, %rsp\n"                                                                  \
	"	mov %r11, (%rsp)\n"                                                                \
	"	mov %rdi, 8(%rsp)\n"                                                               \
	"	mov %rsi, 16(%rsp)\n"                                                              \
	"	mov %rdx, 24(%rsp)\n"                                                              \
	"	mov %rcx, 32(%rsp)\n"                                                              \
	"	mov %r8, 40(%rsp)\n"                                                               \
	"	mov %r9, 48(%rsp)\n"                                                               \
	"	mov %rax, 56(%rsp)\n"                                                              \
	"	mov %r10, 64(%rsp)\n"                                                              \
	save                                                                                       \
	"	mov %rsp, %rdi\n"                                                                  \
	"	call *(%r11)\n"                                                                    \
	load                                                                                       \
	"	mov 8(%rsp), %rdi\n"                                                               \
	"	mov 16(%rsp), %rsi\n"                                                              \
	"	mov 24(%rsp), %rdx\n"                                                              \
	"	mov 32(%rsp), %rcx\n"                                                              \
	"	mov 40(%rsp), %r8\n"                                                               \
	"	mov 48(%rsp), %r9\n"                                                               \
	"	mov 64(%rsp), %r10\n"                                                              \
	"	mov -8(%rbp), %r11\n"                                                              \
	"	mov %rbp, %rsp\n"                                                                  \
	"	pop %rbp\n"                                                                        \
	"	.cfi_def_cfa %rsp, 8\n"                                                            \
	"	ret\n"                                                                             \
	"	.cfi_endproc\n"                                                                    \
	".size " name ", . - " name "\n"

/* With all registers as they were but r11, which is nobody's at a function's entry. */
#define BEHIND                                                                                     \
	".hidden patched_behind\n"                                                                 \
	".globl patched_behind\n"                                                                  \
	".type patched_behind, @function\n"                                                        \
	"patched_behind:\n"                                                                        \
	"	.cfi_startproc\n"                                                                  \
	"	endbr64\n"                                                                         \
	"	mov (%rdi), %r11\n"                                                                \
	"	add $40, %r11\n" /* patched.moved */                                               \
	"	mov 16(%rdi), %rsi\n"                                                              \
	"	mov 24(%rdi), %rdx\n"                                                              \
	"	mov 32(%rdi), %rcx\n"                                                              \
	"	mov 40(%rdi), %r8\n"                                                               \
	"	mov 48(%rdi), %r9\n"                                                               \
	"	mov 56(%rdi), %rax\n"                                                              \
	"	mov 64(%rdi), %r10\n"                                                              \
	"	mov 8(%rdi), %rdi\n"                                                               \
	"	jmp *%r11\n"                                                                       \
	"	.cfi_endproc\n"                                                                    \
	".size patched_behind, . - patched_behind\n"

__asm__(".pushsection .text\n"
	ENTRY("patched_entry", "80", "", "")
	ENTRY("patched_entry_vectors", "336", VECTORS_SAVE("80"), VECTORS_LOAD("80"))
	BEHIND
	".popsection");
/* clang-format on */

/* Linux 6.6: arch_prctl(ARCH_SHSTK_STATUS). */
bool patched_entry_is_shadowed(void)
{
	uint64_t features = 0;

	return syscall6(SYS_arch_prctl, 0x5005, (long)&features, 0, 0, 0, 0) == 0 && features & 1;
}
