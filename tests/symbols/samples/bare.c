/* Assembly that says little about itself, where the symbolizer decides otherwise than llvm. */

/* Two functions without size, one after the other in a section of their own. */
__asm__(".section .text.bare,\"ax\",@progbits\n"
	".globl bare_first\n"
	"bare_first:\n"
	"	nop\n	nop\n	nop\n	ret\n"
	".globl bare_second\n"
	"bare_second:\n"
	"	nop\n	nop\n	ret\n"
	".text\n");

/* A label inside a function of known size is no function. */
__asm__(".text\n"
	".globl with_label\n"
	".type with_label,@function\n"
	"with_label:\n"
	"	nop\n	nop\n"
	"label_inside:\n"
	"	nop\n	nop\n	ret\n"
	".size with_label, . - with_label\n");

void bare_first(void);
void with_label(void);

int main(void)
{
	bare_first();
	with_label();
}
