/* Where the kernel begins: the loader gets the stack and the registers that it would have had. */
__asm__(".globl _start\n"
	"_start:\n"
	"	mov x0, sp\n"
	"	bl launcher_load\n"
	"	mov x16, x0\n" // by which a branch may enter code that has landing pads
	"	mov x0, #0\n"  // no function to be called at the end
	"	br x16\n");
