/* See clone_stack.h. */
#include "agent/arch/clone_stack.h"

#include <sys/syscall.h>

#define TEXT(value)  TEXT_(value)
#define TEXT_(value) #value

/* clang-format off */
/* In: a0 flags, a1 end, a2 function, a3 argument. The last two go onto the new stack. */
__asm__(".pushsection .text\n"
	".set push\n"
	".set noreorder\n"
	".hidden clone_stack\n"
	".globl clone_stack\n"
	".type clone_stack, @function\n"
	"clone_stack:\n"
	"	.cfi_startproc\n"
	"	daddiu $5, $5, -16\n"
	"	sd $6, 0($5)\n"
	"	sd $7, 8($5)\n"
	"	move $6, $0\n"
	"	move $7, $0\n"
	"	move $8, $0\n"
	"	li $2, " TEXT(__NR_clone) "\n"
	"	syscall\n"
	"	bnez $7, 2f\n"
	"	nop\n"
	"	beqz $2, 1f\n"
	"	nop\n"
	"	jr $31\n"
	"	nop\n"
	"2:	jr $31\n"
	"	dnegu $2, $2\n"
	"	.cfi_undefined 31\n" // no frame is outside of this one
	"1:	ld $25, 0($sp)\n"
	"	ld $4, 8($sp)\n"
	"	daddiu $sp, $sp, 16\n"
	"	move $31, $0\n"
	"	jalr $25\n"
	"	move $fp, $0\n"
	"	break\n"
	"	.cfi_endproc\n"
	".size clone_stack, . - clone_stack\n"
	".set pop\n"
	".popsection");
/* clang-format on */
