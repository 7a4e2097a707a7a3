/* See trampoline.h. */
#include "agent/arch/trampoline.h"

/*
 * On the stack: the start. The target is returned in memory, where the hidden first argument of
 * enter() points; enter() takes that argument off the stack.
 */
__asm__(".pushsection .text\n"
	".hidden trampoline\n"
	".globl trampoline\n"
	".type trampoline, @function\n"
	"trampoline:\n"
	"	.cfi_startproc\n"
	"	mov 4(%esp), %eax\n"
	"	sub $28, %esp\n"
	"	.cfi_adjust_cfa_offset 28\n"
	"	lea 16(%esp), %edx\n"
	"	mov %edx, (%esp)\n"
	"	mov %eax, 4(%esp)\n"
	"	call *(%eax)\n"
	"	.cfi_adjust_cfa_offset -4\n"
	"	mov 12(%esp), %eax\n"
	"	mov 16(%esp), %edx\n"
	"	add $24, %esp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	mov %edx, 4(%esp)\n"
	"	jmp *%eax\n"
	"	.cfi_endproc\n"
	".size trampoline, . - trampoline\n"
	".popsection");
