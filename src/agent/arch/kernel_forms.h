/*
 * Which of the kernel's calls and structures the agent uses: where several are there, those for
 * large files and for times after 2038 (Linux 5.1).
 */
#ifndef MALLOW_AGENT_ARCH_KERNEL_FORMS_H
#define MALLOW_AGENT_ARCH_KERNEL_FORMS_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

/* struct timespec, as the kernel has it. */
struct kernel_time {
	int64_t tv_sec, tv_nsec;
};

#if __SIZEOF_LONG__ == 4
#define kernel_stat   stat64
#define kernel_statfs statfs64
enum {
	CALL_MMAP = SYS_mmap2, /* the offset in pages of 4096 bytes */
	CALL_FSTAT = SYS_fstat64,
	CALL_FSTATAT = SYS_fstatat64,
	CALL_FCNTL = SYS_fcntl64,
	CALL_CLOCK = SYS_clock_gettime64,
	CALL_SLEEP = SYS_clock_nanosleep_time64,
	CALL_SIGTIMEDWAIT = SYS_rt_sigtimedwait_time64,
	CALL_FUTEX = SYS_futex_time64,
};
#else
#define kernel_statfs statfs
enum {
	CALL_MMAP = SYS_mmap,
	CALL_FSTAT = SYS_fstat,
	CALL_FSTATAT = SYS_newfstatat,
	CALL_FCNTL = SYS_fcntl,
	CALL_CLOCK = SYS_clock_gettime,
	CALL_SLEEP = SYS_clock_nanosleep,
	CALL_SIGTIMEDWAIT = SYS_rt_sigtimedwait,
	CALL_FUTEX = SYS_futex,
};
#endif

#endif
