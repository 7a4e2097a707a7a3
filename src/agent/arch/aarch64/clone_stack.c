/* See clone_stack.h. */
#include "agent/arch/clone_stack.h"

#include <sys/syscall.h>

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value

/* In: x0 flags, x1 end, x2 function, x3 argument. The last two go onto the new stack. */
__asm__(".pushsection .text\n"
	".hidden clone_stack\n"
	".globl clone_stack\n"
	".type clone_stack, %function\n"
	"clone_stack:\n"
	"	.cfi_startproc\n"
	"	bti c\n"
	"	stp x2, x3, [x1, #-16]!\n"
	"	mov x2, #0\n"
	"	mov x3, #0\n"
	"	mov x4, #0\n"
	"	mov x8, #" TEXT(
		__NR_clone) "\n"
			    "	svc #0\n"
			    "	cbz x0, 1f\n"
			    "	ret\n"
			    "	.cfi_undefined x30\n" // no frame is outside of this one
			    "1:	mov x29, #0\n"
			    "	mov x30, #0\n"
			    "	ldp x2, x0, [sp], #16\n"
			    "	blr x2\n"
			    "	brk #0\n"
			    "	.cfi_endproc\n"
			    ".size clone_stack, . - clone_stack\n"
			    ".popsection");
