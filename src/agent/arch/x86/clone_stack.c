/* See clone_stack.h. */
#include "agent/arch/clone_stack.h"

#include <sys/syscall.h>

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value

/* On the stack: flags, end, function, argument. The last two go onto the new stack. */
__asm__(".pushsection .text\n"
	".hidden clone_stack\n"
	".globl clone_stack\n"
	".type clone_stack, @function\n"
	"clone_stack:\n"
	"	.cfi_startproc\n"
	"	push %ebx\n"
	"	.cfi_adjust_cfa_offset 4\n"
	"	.cfi_rel_offset %ebx, 0\n"
	"	mov 8(%esp), %ebx\n"
	"	mov 12(%esp), %ecx\n"
	"	mov 16(%esp), %eax\n"
	"	mov 20(%esp), %edx\n"
	"	mov %eax, -20(%ecx)\n"
	"	mov %edx, -16(%ecx)\n"
	"	sub $20, %ecx\n"
	"	mov $" TEXT(
		__NR_clone) ", %eax\n"
			    "	int $0x80\n"
			    "	test %eax, %eax\n"
			    "	jz 1f\n"
			    "	pop %ebx\n"
			    "	.cfi_adjust_cfa_offset -4\n"
			    "	.cfi_restore %ebx\n"
			    "	ret\n"
			    "	.cfi_undefined %eip\n" // no frame is outside of this one
			    "1:	xor %ebp, %ebp\n"
			    "	pop %eax\n"
			    "	call *%eax\n"
			    "	hlt\n"
			    "	.cfi_endproc\n"
			    ".size clone_stack, . - clone_stack\n"
			    ".popsection");
