/* Starts and names of threads, and the filters that forbid system calls. */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "agent/clock.h"
#include "agent/process.h"
#include "agent/real.h"
#include "agent/syscall.h"
#include "agent/thread.h"

/* What a new thread is to run; kept here until it does. */
struct start {
	uint32_t used; /* atomic */
	void *(*function)(void *argument);
	void *argument;
};

// Threads between their creation and their first instruction: few at a time.
#define STARTS 256
static struct start starts[STARTS];

static struct start *claim_start(void)
{
	for (int i = 0; i < STARTS; i++) {
		uint32_t free = 0;

		if (__atomic_compare_exchange_n(&starts[i].used, &free, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return &starts[i];
	}
	return NULL;
}

static void release_start(struct start *start)
{
	__atomic_store_n(&start->used, 0, __ATOMIC_RELEASE);
}

/* Two words, which the ABI returns in registers: the trampoline below relies on it. */
struct start_pair {
	void *(*function)(void *argument);
	void *argument;
};

struct start_pair thread_started(struct start *start) __attribute__((used));

/* In the new thread, before the program's function: its start is recorded. */
struct start_pair thread_started(struct start *start)
{
	struct start_pair pair = {start->function, start->argument};

	release_start(start);
	thread_begin_slow();
	return pair;
}

/*
 * Calls thread_started() and then jumps to the program's function, so that no frame of ours is
 * left under it: debuggers, backtrace() and our own stacks see the thread as it always was.
 */
void *thread_trampoline(void *start);

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".hidden thread_trampoline\n"
	".globl thread_trampoline\n"
	".type thread_trampoline, @function\n"
	"thread_trampoline:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call thread_started\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	mov %rdx, %rdi\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size thread_trampoline, . - thread_trampoline\n"
	".popsection");
#else
#error "no trampoline for this architecture"
#endif

int hook_pthread_create(unsigned long *thread, const void *attributes, void *(*function)(void *),
			void *argument)
{
	struct start *start;
	int result;

	real_resolve();
	if (!real.pthread_create)
		return EAGAIN;
	start = process_state() == PROCESS_RECORDING ? claim_start() : NULL;
	// Without one the thread is noticed at its first event.
	if (!start)
		return real.pthread_create(thread, attributes, function, argument);
	start->function = function;
	start->argument = argument;
	thread_set_passing(true);
	result = real.pthread_create(thread, attributes, thread_trampoline, start);
	thread_set_passing(false);
	if (result)
		release_start(start);
	return result;
}

int hook_pthread_setname_np(unsigned long thread, const char *name)
{
	int result;

	real_resolve();
	if (!real.pthread_setname_np)
		return 0;
	result = real.pthread_setname_np(thread, name);
	// Another thread's new name is found when that thread next asks for its own.
	if (result == 0 && real.pthread_self && real.pthread_self() == thread)
		thread_renamed();
	return result;
}

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
	real_resolve();
	if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV && clock_use_tsc) {
		process_stop(TRACE_LOSS_STRICT_MODE,
			     "the program forbids the time stamp counter; later events are lost");
		clock_freeze();
	}
	// Afterwards a system call of ours could kill the program.
	if (option == PR_SET_SECCOMP && (a[0] == SECCOMP_MODE_STRICT || a[1]))
		prepared = process_forbid_system_calls(a[0] == SECCOMP_MODE_STRICT);
	if (real.prctl)
		result = real.prctl(option, a[0], a[1], a[2], a[3]);
	else
		result = (int)real_return(syscall6(SYS_prctl, option, (long)a[0], (long)a[1],
						   (long)a[2], (long)a[3], 0));
	if (prepared && result != 0)
		process_allow_system_calls();
	if (option == PR_SET_NAME && result == 0)
		thread_renamed();
	return result;
}

/* Without a program the call only asks which flags the kernel knows, as libseccomp does. */
static bool installs_filter(long operation, const void *program)
{
	return operation == SECCOMP_SET_MODE_STRICT ||
	       (operation == SECCOMP_SET_MODE_FILTER && program);
}

/* Of a filter with a listener the result is a descriptor, else a thread that could not follow. */
static bool was_refused(long flags, long result)
{
	return flags & SECCOMP_FILTER_FLAG_NEW_LISTENER ? result < 0 : result != 0;
}

int hook_seccomp(unsigned int operation, unsigned int flags, void *arguments)
{
	bool prepared = false;
	long result;

	real_resolve();
	if (installs_filter(operation, arguments))
		prepared = process_forbid_system_calls(operation == SECCOMP_SET_MODE_STRICT);
	if (real.seccomp)
		result = real.seccomp(operation, flags, arguments);
	else
		result = real_return(
			syscall6(SYS_seccomp, operation, flags, (long)arguments, 0, 0, 0));
	if (prepared && was_refused(flags, result))
		process_allow_system_calls();
	return (int)result;
}

/* libseccomp and most programs install their filter by syscall(). */
long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	bool prepared = false;
	long result;

	real_resolve();
	if (number == SYS_seccomp && installs_filter(a, (const void *)c))
		prepared = process_forbid_system_calls(a == SECCOMP_SET_MODE_STRICT);
	if (real.syscall)
		result = real.syscall(number, a, b, c, d, e, f);
	else
		result = real_return(syscall6(number, a, b, c, d, e, f));
	if (prepared && was_refused(b, result))
		process_allow_system_calls();
	return result;
}
