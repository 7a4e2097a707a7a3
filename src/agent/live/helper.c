#include "agent/live/helper.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/wait.h>

#include "agent/clone_stack.h"
#include "agent/config.h"
#include "agent/environment.h"
#include "agent/log.h"
#include "agent/process.h"
#include "agent/slow.h"
#include "agent/syscall.h"
#include "agent/text.h"
#include "base/compiler.h"

#define KEEPERS    4 /* reports being made at once */
#define STACK_SIZE 8192
#define LAST_FD    2
#define SIGNALS    64
#define WAIT_MS    10000
#define ARGUMENTS  8

/* What a keeper needs, which may run longer than the call that starts it. */
struct keeper {
	int pid; /* 0: none */
	int fd;
	bool stderr_is_own;
	char descriptor[16];
	const char *arguments[ARGUMENTS];
	char stack[STACK_SIZE] __attribute__((aligned(16)));
};

static struct keeper keepers[KEEPERS]; // under lock
static uint32_t lock;

static const char *path_of_helper(void)
{
	const char *path = config.text[SETTING_HELPER];

	return *path ? path : MALLOW_INSTALLED_TOOL;
}

/* The signals' actions are this process's own; handlers are the program's code. */
static void reset_handlers(void)
{
	struct {
		void *handler;
		uint64_t flags;
		void *restorer;
		uint64_t mask;
	} before = {0}, standard = {0};

	for (int number = 1; number <= SIGNALS; number++) {
		if (syscall_raw(SYS_rt_sigaction, number, 0, (long)&before, 8, 0, 0) == 0 &&
		    before.handler != SIG_IGN)
			syscall_raw(SYS_rt_sigaction, number, (long)&standard, 0, 8, 0, 0);
	}
}

/* stderr is another file than when the program began: reports go nowhere, or to OUTFILE. */
static void hide_stderr(void)
{
	long null = syscall_raw(SYS_openat, AT_FDCWD, (long)"/dev/null", O_WRONLY, 0, 0, 0);

	if (null >= 0)
		syscall_raw(SYS_dup3, null, LAST_FD, 0, 0, 0, 0);
}

/* Of the helper itself, until it is executed. Other descriptors of the program stay with it. */
static void keep_only(int fd)
{
	if (fd > LAST_FD + 1)
		syscall_raw(SYS_close_range, LAST_FD + 1, fd - 1, 0, 0, 0, 0);
	syscall_raw(SYS_close_range, fd + 1, ~0u, 0, 0, 0, 0);
	syscall_raw(SYS_fcntl, fd, F_SETFD, 0, 0, 0, 0);
}

/* A frame of its own: it runs on the keeper's stack, which the keeper goes on with. */
static never_inline __attribute__((noreturn)) void execute(const struct keeper *keeper)
{
	static const uint64_t none;

	reset_handlers();
	keep_only(keeper->fd);
	if (!keeper->stderr_is_own)
		hide_stderr();
	syscall_raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, 8, 0, 0);
	syscall_raw(SYS_execve, (long)keeper->arguments[0], (long)keeper->arguments,
		    (long)environment_for_tool(), 0, 0, 0);
	for (;;)
		syscall_raw(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

/* With all signals blocked. Its descriptors are copies, which would keep pipes open. */
static void keep(void *argument)
{
	const struct keeper *keeper = argument;
	long helper = syscall_raw(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);

	if (helper == 0)
		execute(keeper);
	syscall_raw(SYS_close_range, 0, ~0u, 0, 0, 0, 0);
	while (helper > 0 && syscall_raw(SYS_wait4, helper, 0, __WALL, 0, 0, 0) == -EINTR)
		;
	for (;;)
		syscall_raw(SYS_exit, 0, 0, 0, 0, 0, 0);
}

static void fill(struct keeper *keeper, enum helper_sort sort)
{
	const char **argument = keeper->arguments;
	struct text text;

	text_init(&text, keeper->descriptor, sizeof(keeper->descriptor));
	keeper->fd = process->file.fd;
	text_number(&text, (uint64_t)keeper->fd);
	*argument++ = path_of_helper();
	*argument++ = "live-report";
	*argument++ = "--fd";
	*argument++ = keeper->descriptor;
	if (sort != HELPER_SORT_DEFAULT) {
		*argument++ = "--sort";
		*argument++ = sort == HELPER_SORT_SIZE ? "size" : "count";
	}
	*argument = NULL;
	keeper->stderr_is_own = log_stderr_is_own();
}

/* Whether the keeper is there no more; it is reaped. */
static bool has_ended(struct keeper *keeper)
{
	if (keeper->pid && sys_wait4(keeper->pid, WNOHANG | __WALL) == 0)
		return false;
	keeper->pid = 0;
	return true;
}

static void say_missing(void)
{
	static uint32_t said;

	if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	log_start(SETTING_LOG_ERROR);
	log_string("no report: '");
	log_string(path_of_helper());
	log_string("' cannot be executed; MALLOW_HELPER names the tool");
	log_end();
}

/* Under the lock, in a slow bracket. */
static bool start(enum helper_sort sort)
{
	for (int i = 0; i < KEEPERS; i++) {
		struct keeper *keeper = &keepers[i];
		long pid;

		if (!has_ended(keeper))
			continue;
		fill(keeper, sort);
		pid = clone_stack(CLONE_VM, keeper->stack + STACK_SIZE, keep, keeper);
		keeper->pid = pid > 0 ? (int)pid : 0;
		return true;
	}
	return false;
}

bool helper_start(enum helper_sort sort)
{
	struct slow slow;
	bool done = false;

	if (process_system_calls_forbidden())
		return true;
	slow_begin(&slow);
	if (sys_access(path_of_helper(), 1)) {
		say_missing();
		done = true;
	} else if (file_keep_descriptor(&process->file) && slow_try_lock(&lock)) {
		done = start(sort);
		slow_unlock(&lock);
	}
	slow_end(&slow);
	return done;
}

void helper_reap(void)
{
	if (!slow_try_lock(&lock))
		return;
	for (int i = 0; i < KEEPERS; i++)
		has_ended(&keepers[i]);
	slow_unlock(&lock);
}

void helper_wait(void)
{
	static const struct timespec nap = {.tv_nsec = 1000000};

	for (int tries = 0; tries < WAIT_MS; tries++) {
		bool all = true;

		for (int i = 0; i < KEEPERS; i++)
			all &= has_ended(&keepers[i]);
		if (all || process_system_calls_forbidden())
			return;
		sys_nanosleep(&nap);
	}
}

void helper_forget(void)
{
	for (int i = 0; i < KEEPERS; i++)
		keepers[i].pid = 0;
	lock = 0;
}
