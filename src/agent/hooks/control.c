/* Hooks for calls by which a program limits itself (seccomp, PR_SET_TSC), and for syscall(). */
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "agent/hooks/hooks.h"
#include "agent/life/fork.h"
#include "agent/life/seccomp.h"
#include "agent/life/thread.h"
#include "agent/record/file_cut.h"
#include "agent/record/process_stop.h"
#include "agent/unwind/unwind.h"

int hook_prctl(int option, ...)
{
	unsigned long a[4];
	va_list arguments;
	bool prepared = false;
	int result;

	va_start(arguments, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(arguments, unsigned long);
	va_end(arguments);
	hooks_resolve();
	if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV && clock_use_tsc) {
		process_stop(TRACE_LOSS_STRICT_MODE,
			     "the program forbids the time stamp counter; later events are lost");
		clock_freeze();
	}
	// Before the call: after it a system call of ours could kill the program.
	if (option == PR_SET_SECCOMP && (a[0] == SECCOMP_MODE_STRICT || a[1]))
		prepared = seccomp_prepare(a[0] == SECCOMP_MODE_STRICT ? SECCOMP_STRICT
								       : SECCOMP_FILTER);
	if (option == PR_SET_SYSCALL_USER_DISPATCH && a[0] != PR_SYS_DISPATCH_OFF)
		prepared = seccomp_prepare(SECCOMP_DISPATCH);
	if (real.prctl)
		result = real.prctl(option, a[0], a[1], a[2], a[3]);
	else
		result = (int)next_functions_return(syscall6(
			SYS_prctl, option, (long)a[0], (long)a[1], (long)a[2], (long)a[3], 0));
	if (prepared && result != 0)
		seccomp_refused();
	if (option == PR_SET_NAME && result == 0)
		thread_renamed();
	return result;
}

/* Without a filter program the call only asks which flags the kernel knows, as libseccomp does. */
static bool installs_filter(long operation, const void *program)
{
	return operation == SECCOMP_SET_MODE_STRICT ||
	       (operation == SECCOMP_SET_MODE_FILTER && program);
}

/* The result is a descriptor if there is a listener; else 0, or a thread that did not follow. */
static bool was_refused(long flags, long result)
{
	return flags & SECCOMP_FILTER_FLAG_NEW_LISTENER ? result < 0 : result != 0;
}

int hook_seccomp(unsigned int operation, unsigned int flags, void *arguments)
{
	bool prepared = false;
	long result;

	hooks_resolve();
	if (installs_filter(operation, arguments))
		prepared = seccomp_prepare(operation == SECCOMP_SET_MODE_STRICT ? SECCOMP_STRICT
										: SECCOMP_FILTER);
	if (real.seccomp)
		result = real.seccomp(operation, flags, arguments);
	else
		result = next_functions_return(
			syscall6(SYS_seccomp, operation, flags, (long)arguments, 0, 0, 0));
	if (prepared && was_refused(flags, result))
		seccomp_refused();
	return (int)result;
}

/*
 * Whether the call copies the process. A child that shares the memory, as with vfork(), never
 * returns into what was interrupted.
 */
static bool copies_process(long number, long flags)
{
#ifdef SYS_fork // newer architectures have clone alone
	if (number == SYS_fork)
		return true;
#endif
	return number == SYS_clone && !(flags & CLONE_VM);
}

static long copy_process(long number, long a, long b, long c, long d, long e, long f)
{
	struct fork fork;
	long result;

	fork_begin(&fork);
	result = real.syscall(number, a, b, c, d, e, f);
	fork_end(&fork, result);
	return result;
}

/* Memory that a system call may take away. For mmap() and its like: hooks/mapping.c. */
struct taken {
	uint64_t address, size; /* size 0: none */
	uint64_t target, target_size;
};

static struct taken taken_memory(long number, long a, long b, long c, long d, long e)
{
	struct taken taken = {.address = (unsigned long)a};

	if (number == SYS_munmap || number == SYS_mprotect || number == SYS_pkey_mprotect ||
	    number == SYS_mremap || (number == CALL_MMAP && d & MAP_FIXED))
		taken.size = (unsigned long)b;
	if (number == SYS_mremap && d & MREMAP_FIXED) {
		taken.target = (unsigned long)e;
		taken.target_size = (unsigned long)c;
	}
	return taken;
}

static long call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
	struct taken taken = taken_memory(number, a, b, c, d, e);
	long result;

	unwind_memory_changes(taken.address, taken.size);
	unwind_memory_changes(taken.target, taken.target_size);
	result = real.syscall(number, a, b, c, d, e, f);
	unwind_memory_changed(taken.address, taken.size);
	unwind_memory_changed(taken.target, taken.target_size);
	return result;
}

/* The same that hooks/file.c does for functions of the C library. */
static void before_cut(long number, long a, long b, long c, long d)
{
#ifdef SYS_open // newer architectures have openat alone
	if (number == SYS_creat || (number == SYS_open && b & O_TRUNC))
		file_cut_prepare(AT_FDCWD, (const char *)a, 0);
#endif
	if (number == SYS_openat && c & O_TRUNC)
		file_cut_prepare((int)a, (const char *)b, 0);
	else if (number == SYS_truncate)
		file_cut_prepare(AT_FDCWD, (const char *)a, (uint64_t)b);
	else if (number == SYS_ftruncate)
		file_cut_prepare((int)a, NULL, (uint64_t)b);
#ifdef SYS_truncate64 // where words have 32 bits
	uint64_t length = OFFSET_OF(b, c, d);

	if (number == SYS_truncate64)
		file_cut_prepare(AT_FDCWD, (const char *)a, length);
	else if (number == SYS_ftruncate64)
		file_cut_prepare((int)a, NULL, length);
#endif
}

/* libseccomp and most programs install filters by syscall(). It may also fork, or unmap. */
long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	bool prepared = false;
	long result;

	if (number == SYS_prctl)
		return hook_prctl((int)a, b, c, d, e);
	hooks_resolve();
	if (number == SYS_seccomp && installs_filter(a, (const void *)c))
		prepared = seccomp_prepare(a == SECCOMP_SET_MODE_STRICT ? SECCOMP_STRICT
									: SECCOMP_FILTER);
	before_cut(number, a, b, c, d);
	if (number == SYS_munmap || number == SYS_mremap)
		clock_memory_leaves((unsigned long)a, (unsigned long)b);
	if (real.syscall && copies_process(number, a))
		result = copy_process(number, a, b, c, d, e, f);
	else if (real.syscall)
		result = call_kernel(number, a, b, c, d, e, f);
	else
		result = next_functions_return(syscall6(number, a, b, c, d, e, f));
	if (prepared && was_refused(b, result))
		seccomp_refused();
	return result;
}
