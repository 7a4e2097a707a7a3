/*
 * Everything that the agent asks of the kernel, in one place. These are raw system calls, so that
 * errno, cancellation points and hooks of the program are left alone. All return the result or the
 * negative error number. All are async-signal-safe.
 *
 * The test builds (MALLOW_TEST_BUILD, tests/agent) call two functions before each system call.
 * syscall_fails() returns the error that is to be returned instead of the call's result; 0: none.
 * syscall_reenter() may allocate, as a signal handler could at that moment.
 */
#ifndef MALLOW_AGENT_ARCH_SYSCALL_H
#define MALLOW_AGENT_ARCH_SYSCALL_H

#include <fcntl.h>
#include <linux/random.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "agent/arch/cpu.h"
#include "agent/arch/kernel_forms.h"
#include "agent/arch/machine.h"

#ifdef MALLOW_TEST_BUILD
void syscall_reenter(void);
long syscall_fails(long number);
#else
static inline void syscall_reenter(void)
{
}

static inline long syscall_fails(long number)
{
	return 0;
}
#endif

#include ARCH_FILE(syscall_raw.h)
#if __SIZEOF_LONG__ == 8 && !defined(ARCH_KERNEL_STAT)
#define kernel_stat stat
#endif

static inline long syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	long failure = syscall_fails(number);

	if (failure)
		return failure;
	syscall_reenter(); // before the registers are loaded
	return syscall_raw(number, a, b, c, d, e, f);
}

/* A file offset as the last arguments of a call, and that of these. */
#if __SIZEOF_LONG__ == 8
#define FILE_OFFSET(offset) (long)(offset), 0, 0
#elif defined(ARCH_OFFSETS_ALIGNED)
#define FILE_OFFSET(offset) 0, (long)(offset), (long)((offset) >> 32)
#define OFFSET_OF(a, b, c)  ((uint64_t)(unsigned long)(c) << 32 | (unsigned long)(b))
#else
#define FILE_OFFSET(offset) (long)(offset), (long)((offset) >> 32), 0
#define OFFSET_OF(a, b, c)  ((uint64_t)(unsigned long)(b) << 32 | (unsigned long)(a))
#endif

/* The same where calls want two words on all machines, or a kernel of 32 bits any two. */
#define OFFSET_HALVES(offset) (long)(offset), (long)(sizeof(long) == 8 ? 0 : (offset) >> 32)

#define syscall_error(result) ((unsigned long)(result) >= (unsigned long)-4095)

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)syscall6(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}

static inline int sys_close(int fd)
{
	return (int)syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline long sys_read(int fd, void *buffer, size_t size)
{
	return syscall6(SYS_read, fd, (long)buffer, (long)size, 0, 0, 0);
}

static inline long sys_write(int fd, const void *buffer, size_t size)
{
	return syscall6(SYS_write, fd, (long)buffer, (long)size, 0, 0, 0);
}

static inline long sys_pread(int fd, void *buffer, size_t size, uint64_t offset)
{
	return syscall6(SYS_pread64, fd, (long)buffer, (long)size, FILE_OFFSET(offset));
}

static inline long sys_pwrite(int fd, const void *buffer, size_t size, uint64_t offset)
{
	return syscall6(SYS_pwrite64, fd, (long)buffer, (long)size, FILE_OFFSET(offset));
}

static inline long sys_pwritev(int fd, const struct iovec *parts, int count, uint64_t offset)
{
	return syscall6(SYS_pwritev, fd, (long)parts, count, OFFSET_HALVES(offset), 0);
}

static inline int sys_fallocate(int fd, uint64_t offset, uint64_t size)
{
#if __SIZEOF_LONG__ == 8
	return (int)syscall6(SYS_fallocate, fd, 0, (long)offset, (long)size, 0, 0);
#else
	return (int)syscall6(SYS_fallocate, fd, 0, OFFSET_HALVES(offset), OFFSET_HALVES(size));
#endif
}

static inline int sys_memfd_create(const char *name, unsigned int flags)
{
	return (int)syscall6(SYS_memfd_create, (long)name, flags, 0, 0, 0, 0);
}

static inline int sys_fstat(int fd, struct kernel_stat *ret)
{
	return (int)syscall6(CALL_FSTAT, fd, (long)ret, 0, 0, 0, 0);
}

/* flags: AT_EMPTY_PATH with an empty path: the descriptor's file. */
static inline int sys_fstatat(int directory, const char *path, struct kernel_stat *ret, int flags)
{
	return (int)syscall6(CALL_FSTATAT, directory, (long)path, (long)ret, flags, 0, 0);
}

static inline int sys_mkdir(const char *path, int mode)
{
	return (int)syscall6(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

static inline int sys_unlink(const char *path)
{
	return (int)syscall6(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

static inline long sys_readlink(const char *path, char *buffer, size_t size)
{
	return syscall6(SYS_readlinkat, AT_FDCWD, (long)path, (long)buffer, (long)size, 0, 0);
}

static inline long sys_getcwd(char *buffer, size_t size)
{
	return syscall6(SYS_getcwd, (long)buffer, (long)size, 0, 0, 0, 0);
}

/* flags as for mmap(). Returns the address or a negative error: test with syscall_error(). */
static inline void *sys_mmap(void *address, size_t size, int protection, int flags, int fd,
			     uint64_t offset)
{
	return (void *)syscall6(CALL_MMAP, (long)address, (long)size, protection, flags, fd,
				(long)(sizeof(long) == 8 ? offset : offset >> 12));
}

/* The end of the heap that grows by brk(). */
static inline uint64_t sys_brk(void)
{
	return (unsigned long)syscall6(SYS_brk, 0, 0, 0, 0, 0, 0);
}

static inline int sys_munmap(void *address, size_t size)
{
	return (int)syscall6(SYS_munmap, (long)address, (long)size, 0, 0, 0, 0);
}

/* Moves a mapping to an address, whatever is mapped there. */
static inline void *sys_mremap(void *from, size_t size, void *to)
{
	return (void *)syscall6(SYS_mremap, (long)from, (long)size, (long)size,
				MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0);
}

static inline int sys_mprotect(void *address, size_t size, int protection)
{
	return (int)syscall6(SYS_mprotect, (long)address, (long)size, protection, 0, 0, 0);
}

static inline int sys_madvise(void *address, size_t size, int advice)
{
	return (int)syscall6(SYS_madvise, (long)address, (long)size, advice, 0, 0, 0);
}

/* pages: a byte for each page, whose low bit is set if the page is resident. */
static inline int sys_fstatfs(int fd, struct kernel_statfs *ret)
{
#if __SIZEOF_LONG__ == 8
	return (int)syscall6(SYS_fstatfs, fd, (long)ret, 0, 0, 0, 0);
#else
	return (int)syscall6(SYS_fstatfs64, fd, sizeof(*ret), (long)ret, 0, 0, 0);
#endif
}

static inline int sys_membarrier(int command)
{
	return (int)syscall6(SYS_membarrier, command, 0, 0, 0, 0, 0);
}

/* mode: 1 asks whether the file may be executed. */
static inline int sys_access(const char *path, int mode)
{
	return (int)syscall6(SYS_faccessat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

/* Returns the pid of the process that has ended; 0: none has. */
static inline int sys_wait4(int pid, int options)
{
	return (int)syscall6(SYS_wait4, pid, 0, options, 0, 0, 0);
}

static inline int sys_fcntl(int fd, int command, long argument)
{
	return (int)syscall6(CALL_FCNTL, fd, command, argument, 0, 0, 0);
}

static inline int sys_getpid(void)
{
	return (int)syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline int sys_getppid(void)
{
	return (int)syscall6(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

static inline int sys_gettid(void)
{
	return (int)syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline int sys_sched_yield(void)
{
	return (int)syscall6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

static inline int sys_nanosleep(const struct kernel_time *time)
{
	return (int)syscall6(CALL_SLEEP, CLOCK_MONOTONIC, 0, (long)time, 0, 0, 0);
}

static inline int sys_tgkill(int pid, int tid, int signal)
{
	return (int)syscall6(SYS_tgkill, pid, tid, signal, 0, 0, 0);
}

static inline int sys_prctl(int option, unsigned long argument)
{
	return (int)syscall6(SYS_prctl, option, (long)argument, 0, 0, 0, 0);
}

static inline int sys_clock_gettime(int clock, struct kernel_time *ret)
{
	return (int)syscall6(CALL_CLOCK, clock, (long)ret, 0, 0, 0, 0);
}

/* Does not wait for the kernel's first random numbers after a boot. */
static inline long sys_getrandom(void *buffer, size_t size)
{
	return syscall6(SYS_getrandom, (long)buffer, (long)size, GRND_NONBLOCK, 0, 0, 0);
}

/* old may be NULL. */
static inline int sys_sigprocmask(int how, const struct signal_set *set, struct signal_set *old)
{
	return (int)syscall6(SYS_rt_sigprocmask, how, (long)set, (long)old, sizeof(*set), 0, 0);
}

static inline int sys_sigtimedwait(const struct signal_set *set, const struct kernel_time *timeout)
{
	return (int)syscall6(CALL_SIGTIMEDWAIT, (long)set, 0, (long)timeout, sizeof(*set), 0, 0);
}

static inline int sys_sigpending(struct signal_set *ret)
{
	return (int)syscall6(SYS_rt_sigpending, (long)ret, sizeof(*ret), 0, 0, 0, 0);
}

static inline int sys_prlimit(int resource, uint64_t ret[2])
{
	return (int)syscall6(SYS_prlimit64, 0, resource, 0, (long)ret, 0, 0);
}

static inline int sys_uname(void *ret)
{
	return (int)syscall6(SYS_uname, (long)ret, 0, 0, 0, 0, 0);
}

#endif
