/* One system call on x86-64: by its number, as the kernel returns. Only syscall.h includes this. */
#ifndef MALLOW_AGENT_ARCH_X86_64_SYSCALL_RAW_H
#define MALLOW_AGENT_ARCH_X86_64_SYSCALL_RAW_H

static inline long syscall_raw(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
