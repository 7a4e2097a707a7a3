/* See clone_stack.h. */
#include "agent/arch/clone_stack.h"

#include <sys/syscall.h>

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value

/* In: rdi flags, rsi end, rdx function, rcx argument. The last two go onto the new stack. */
__asm__(".pushsection .text\n"
	".hidden clone_stack\n"
	".globl clone_stack\n"
	".type clone_stack, @function\n"
	"clone_stack:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	sub $16, %rsi\n"
	"	mov %rdx, (%rsi)\n"
	"	mov %rcx, 8(%rsi)\n"
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	xor %r8d, %r8d\n"
	"	mov $" TEXT(
		__NR_clone) ", %eax\n"
			    "	syscall\n"
			    "	test %rax, %rax\n"
			    "	jz 1f\n"
			    "	ret\n"
			    "	.cfi_undefined %rip\n" // no frame is outside of this one
			    "1:	xor %ebp, %ebp\n"
			    "	pop %rax\n"
			    "	pop %rdi\n"
			    "	call *%rax\n"
			    "	hlt\n"
			    "	.cfi_endproc\n"
			    ".size clone_stack, . - clone_stack\n"
			    ".popsection");
