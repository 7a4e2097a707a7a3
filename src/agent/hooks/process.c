/* The life of the process: fork, exec, spawn, the ways to exit. And the constructor and destructor
 * of this library. */
#include <stdarg.h>

#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/hooks/hooks.h"
#include "agent/life/environment.h"
#include "agent/life/exec_sight.h"
#include "agent/life/fork.h"
#include "agent/life/process.h"
#include "agent/life/process_end.h"
#include "agent/life/signal_chain.h"
#include "agent/life/thread.h"
#include "agent/script/script_find.h"
#include "agent/record/fact_record.h"

extern char **environ __attribute__((weak));

static void write_plain(const struct fact_record *record)
{
	struct thread *thread = thread_self;
	struct signal_bracket bracket;
	struct arch_mark outer;

	if (!thread || !thread->cursor || thread->busy || process_is_borrowed())
		return;
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	fact_record_write(thread, record);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}

/* Forks. The child finds its state wiped, and begins a recording at its first allocation. */
static int copy_process(int (*behind)(void))
{
	struct fact_record record = {.kind = TRACE_RECORD_FORK, .has_time = true};
	struct fork fork;
	int pid;

	// In a static program fork() calls our _Fork().
	if (thread_is_passing())
		return behind();
	fork_begin(&fork);
	thread_set_passing(true);
	pid = behind();
	thread_set_passing(false); // the child finds it wiped
	fork_end(&fork, pid);
	if (pid > 0) {
		record.ticks = clock_ticks();
		fact_record_add(&record, (uint64_t)pid);
		write_plain(&record);
	}
	return pid;
}

int hook_fork(void)
{
	hooks_resolve();
	return copy_process(real.fork);
}

/* _Fork(), for signal handlers: runs no pthread_atfork() handlers. In glibc since 2.34. */
int hook_fork_signal_safe(void)
{
	hooks_resolve();
	return copy_process(real.fork_signal_safe ? real.fork_signal_safe : real.fork);
}

static void before_exec(const char *path)
{
	struct fact_record record = {.kind = TRACE_RECORD_EXEC,
				     .has_time = true,
				     .ticks = clock_ticks(),
				     .text = path,
				     .text_size = path ? strlen(path) : 0};

	write_plain(&record);
	process_end(TRACE_END_EXEC, 0);
}

/* Ends the recording. Returns the environment to execute with; *size as by environment_carry(). */
static char *const *begin_exec(const char *path, char *const envp[], size_t *size)
{
	char *const *carried;

	hooks_resolve();
	carried = environment_carry(envp, size);
	before_exec(path);
	// In a vfork child, too: its signals are its own.
	signal_chain_before_exec();
	return carried;
}

/* The exec came back, so it failed: undoes begin_exec(). */
static int end_exec(long result, char *const *carried, size_t size)
{
	signal_chain_after_exec();
	environment_release(carried, size);
	process_resume();
	return (int)result;
}

int hook_execve(const char *path, char *const argv[], char *const envp[])
{
	size_t size;
	char *const *carried;

	exec_sight_look(AT_FDCWD, path, false);
	carried = begin_exec(path, envp, &size);
	return end_exec(real.execve(path, argv, carried), carried, size);
}

int hook_execv(const char *path, char *const argv[])
{
	return hook_execve(path, argv, environ);
}

int hook_execvpe(const char *file, char *const argv[], char *const envp[])
{
	size_t size;
	char *const *carried;

	exec_sight_look(AT_FDCWD, file, true);
	carried = begin_exec(file, envp, &size);
	return end_exec(real.execvpe(file, argv, carried), carried, size);
}

int hook_execvp(const char *file, char *const argv[])
{
	return hook_execvpe(file, argv, environ);
}

/* The number of arguments before the NULL. */
static size_t count_arguments(const char *first, va_list arguments)
{
	size_t count = 0;

	while (first) {
		count++;
		first = va_arg(arguments, const char *);
	}
	return count;
}

/* Copies the arguments of execl and its like into argv, which has room for them and the NULL. */
static void collect_arguments(char **argv, const char *first, va_list arguments)
{
	size_t i = 0;

	for (; first; first = va_arg(arguments, const char *))
		argv[i++] = (char *)first;
	argv[i] = NULL;
}

/* argv lies on the caller's stack, as in the C library: a vfork child has no other place. */
#define COLLECT_ARGUMENTS(argv, argument)                                                          \
	va_list arguments;                                                                         \
	size_t count;                                                                              \
	char **argv;                                                                               \
                                                                                                   \
	va_start(arguments, argument);                                                             \
	count = count_arguments(argument, arguments);                                              \
	va_end(arguments);                                                                         \
	argv = __builtin_alloca((count + 1) * sizeof(*argv));                                      \
	va_start(arguments, argument);                                                             \
	collect_arguments(argv, argument, arguments)

int hook_execl(const char *path, const char *argument, ...)
{
	COLLECT_ARGUMENTS(argv, argument);
	va_end(arguments);
	return hook_execve(path, argv, environ);
}

int hook_execlp(const char *file, const char *argument, ...)
{
	COLLECT_ARGUMENTS(argv, argument);
	va_end(arguments);
	return hook_execvpe(file, argv, environ);
}

int hook_execle(const char *path, const char *argument, ...)
{
	char *const *envp;

	COLLECT_ARGUMENTS(argv, argument);
	envp = va_arg(arguments, char *const *); // the argument after the NULL
	va_end(arguments);
	return hook_execve(path, argv, envp);
}

int hook_fexecve(int fd, char *const argv[], char *const envp[])
{
	size_t size;
	char *const *carried;

	exec_sight_look(fd, "", false);
	carried = begin_exec(NULL, envp, &size);
	return end_exec(real.fexecve(fd, argv, carried), carried, size);
}

int hook_execveat(int directory, const char *path, char *const argv[], char *const envp[],
		  int flags)
{
	size_t size;
	char *const *carried;
	long result;

	if (path && (*path || flags & AT_EMPTY_PATH))
		exec_sight_look(directory, path, false);
	carried = begin_exec(path, envp, &size);

	if (real.execveat)
		result = real.execveat(directory, path, argv, carried, flags);
	else
		result = next_functions_return(syscall6(SYS_execveat, directory, (long)path,
							(long)argv, (long)carried, flags, 0));
	return end_exec(result, carried, size);
}

/* function: the real posix_spawn or posix_spawnp. */
static int spawn_by(__typeof__(real.posix_spawn) function, int *pid, const char *path,
		    const void *actions, const void *attributes, char *const argv[],
		    char *const envp[])
{
	size_t size;
	char *const *carried = environment_carry(envp, &size);
	int result;

	exec_sight_look(AT_FDCWD, path, function == real.posix_spawnp);
	thread_set_passing(true);
	result = function(pid, path, actions, attributes, argv, carried);
	thread_set_passing(false);
	environment_release(carried, size);
	return result;
}

int hook_posix_spawn(int *pid, const char *path, const void *actions, const void *attributes,
		     char *const argv[], char *const envp[])
{
	hooks_resolve();
	return spawn_by(real.posix_spawn, pid, path, actions, attributes, argv, envp);
}

int hook_posix_spawnp(int *pid, const char *file, const void *actions, const void *attributes,
		      char *const argv[], char *const envp[])
{
	hooks_resolve();
	return spawn_by(real.posix_spawnp, pid, file, actions, attributes, argv, envp);
}

// exit() is under way. In a static program it ends with our _exit(), which knows the status.
static bool exiting;

static __attribute__((noreturn)) void leave(void (*behind)(int), int status)
{
	process_end(exiting ? TRACE_END_EXIT : TRACE_END_FAST_EXIT, (uint8_t)status);
	if (behind)
		behind(status);
	for (;;)
		syscall6(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

__attribute__((noreturn)) void hook_fast_exit(int status)
{
	hooks_resolve();
	leave(real.fast_exit, status);
}

__attribute__((noreturn)) void hook_fast_exit_c99(int status)
{
	hooks_resolve();
	leave(real.fast_exit_c99, status);
}

__attribute__((noreturn)) void hook_quick_exit(int status)
{
	hooks_resolve();
	leave(real.quick_exit, status);
}

/* Called by exit() and the return from main, on glibc. Only here the status is known. */
static void process_exits(int status, void *argument)
{
	process_end(TRACE_END_EXIT, (uint8_t)status);
}

/* Begins the recording, so that a program that never allocates has one, too: an empty one. */
static __attribute__((constructor)) void library_begins(void)
{
	hooks_resolve();
	if (process_state() == PROCESS_NEW && (!toggle_is_off() || process_settle_toggle_slow()))
		thread_begin_slow(false);
	if (process_read_settings()) {
		script_find(false);
		python_pools_begin();
	}
	signal_chain_begin();
	// Registered first, it runs last: after the program's own handlers and destructors. It is
	// registered even if no recording ever begins.
	if (real.on_exit)
		real.on_exit(process_exits, NULL);
}

/*
 * Ends the recording at exit() where there is no on_exit(), which would say the status: musl. What
 * destructors and handlers do after this one is still recorded.
 */
static __attribute__((destructor)) void library_ends(void)
{
#ifdef MALLOW_STATIC
	exiting = true;
#else
	if (!real.on_exit)
		process_end(TRACE_END_EXIT, TRACE_STATUS_UNKNOWN);
#endif
}
