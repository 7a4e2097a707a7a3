/* Where the kernel begins: the loader gets the stack and the registers that it would have had. */
__asm__(".globl _start\n"
	"_start:\n"
	"	mov %rsp, %rdi\n"
	"	call launcher_load\n"
	"	xor %edx, %edx\n" // no function to be called at the end
	"	jmp *%rax\n");
