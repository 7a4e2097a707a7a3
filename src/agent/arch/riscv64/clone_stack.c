/* See clone_stack.h. */
#include "agent/arch/clone_stack.h"

#include <sys/syscall.h>

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value

/* clang-format off */
/* In: a0 flags, a1 end, a2 function, a3 argument. The last two go onto the new stack. */
__asm__(".pushsection .text\n"
	".hidden clone_stack\n"
	".globl clone_stack\n"
	".type clone_stack, @function\n"
	"clone_stack:\n"
	"	.cfi_startproc\n"
	"	addi a1, a1, -16\n"
	"	sd a2, 0(a1)\n"
	"	sd a3, 8(a1)\n"
	"	li a2, 0\n"
	"	li a3, 0\n"
	"	li a4, 0\n"
	"	li a7, " TEXT(__NR_clone) "\n"
	"	ecall\n"
	"	beqz a0, 1f\n"
	"	ret\n"
	"	.cfi_undefined ra\n" // no frame is outside of this one
	"1:	li s0, 0\n"
	"	ld t0, 0(sp)\n"
	"	ld a0, 8(sp)\n"
	"	addi sp, sp, 16\n"
	"	jalr t0\n"
	"	ebreak\n"
	"	.cfi_endproc\n"
	".size clone_stack, . - clone_stack\n"
	".popsection");
/* clang-format on */
