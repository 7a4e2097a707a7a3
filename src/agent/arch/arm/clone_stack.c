/* See clone_stack.h. */
#include "agent/arch/clone_stack.h"

#include <sys/syscall.h>

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value

/* In: r0 flags, r1 end, r2 function, r3 argument. The last two go onto the new stack. */
__asm__(".pushsection .text\n"
	".arm\n"
	".balign 4\n"
	".hidden clone_stack\n"
	".globl clone_stack\n"
	".type clone_stack, %function\n"
	"clone_stack:\n"
	"	.fnstart\n"
	"	push {r4, r7}\n"
	"	.save {r4, r7}\n"
	"	sub r1, r1, #8\n"
	"	stm r1, {r2, r3}\n"
	"	mov r2, #0\n"
	"	mov r3, #0\n"
	"	mov r4, #0\n"
	"	ldr r7, =" TEXT(__NR_clone) "\n"
					    "	svc #0\n"
					    "	cmp r0, #0\n"
					    "	beq 1f\n"
					    "	pop {r4, r7}\n"
					    "	bx lr\n"
					    "	.fnend\n"
					    "	.fnstart\n"
					    "	.cantunwind\n" // no frame is outside of this one
					    "1:	mov r7, #0\n"
					    "	mov r11, #0\n"
					    "	pop {r1, r2}\n"
					    "	mov r0, r2\n"
					    "	mov lr, pc\n"
					    "	bx r1\n"
					    "	udf #0\n"
					    "	.fnend\n"
					    "	.ltorg\n"
					    ".size clone_stack, . - clone_stack\n"
					    ".popsection");
