/* One system call on MIPS64: by its number, as other kernels return. Only syscall.h includes this.
 */
#ifndef MALLOW_AGENT_ARCH_MIPS64_SYSCALL_RAW_H
#define MALLOW_AGENT_ARCH_MIPS64_SYSCALL_RAW_H

#include <stdint.h>

/* The kernel's struct stat, which is not the C library's. */
#define ARCH_KERNEL_STAT
struct kernel_stat {
	uint32_t st_dev, pad1[3];
	uint64_t st_ino;
	uint32_t st_mode, st_nlink, st_uid, st_gid, st_rdev, pad2[3];
	int64_t st_size;
	uint32_t times[6];
	uint32_t st_blksize, pad3;
	uint64_t st_blocks;
	uint64_t pad4[16];
};

/* The error number comes positive, and with a flag in a3. */
static inline long syscall_raw(long number, long a, long b, long c, long d, long e, long f)
{
	register long v0 __asm__("$2") = number;
	register long a0 __asm__("$4") = a;
	register long a1 __asm__("$5") = b;
	register long a2 __asm__("$6") = c;
	register long a3 __asm__("$7") = d;
	register long a4 __asm__("$8") = e;
	register long a5 __asm__("$9") = f;

	__asm__ volatile("syscall"
			 : "+r"(v0), "+r"(a3)
			 : "r"(a0), "r"(a1), "r"(a2), "r"(a4), "r"(a5)
			 : "$1", "$3", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi",
			   "lo", "memory");
	return a3 ? -v0 : v0;
}

#endif
