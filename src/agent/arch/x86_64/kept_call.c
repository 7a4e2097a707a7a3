/* See kept_call.h. */
#include "agent/arch/kept_call.h"

#include "agent/arch/x86_64/vectors.h"

__asm__(".pushsection .text\n"
	".hidden kept_call\n"
	".globl kept_call\n"
	".type kept_call, @function\n"
	"kept_call:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	sub $256, %rsp\n"
	"	and $-16, %rsp\n" VECTORS_SAVE("0") "	mov %rdi, %rax\n"
						    "	mov %rsi, %rdi\n"
						    "	mov %rdx, %rsi\n"
						    "	call *%rax\n" VECTORS_LOAD(
							    "0") "	mov %rbp, %rsp\n"
								 "	pop %rbp\n"
								 "	.cfi_def_cfa %rsp, 8\n"
								 "	ret\n"
								 "	.cfi_endproc\n"
								 ".size kept_call, . - kept_call\n"
								 ".popsection");
