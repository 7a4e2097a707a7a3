/* See launch.h. By ptrace, which is gone again before the program does anything of its own. */
#include "ebpf/target/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ebpf/arch/machine.h"
#include "ebpf/target/loader_state.h"
#include "hosted/cleanup.h"

/* In the child: asks to be traced, and becomes the program. The errno goes through the pipe. */
static void become_program(char *const argv[], int pipe)
{
	int number;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		execvp(argv[0], argv);
	number = errno;
	if (write(pipe, &number, sizeof(number)) < 0)
		_exit(126);
	_exit(127);
}

/* Waits until the child stops. SIGTRAP is what we wait for; others are handed on. */
static struct err *wait_for_stop(pid_t pid, const char *name)
{
	int status;

	for (;;) {
		if (waitpid(pid, &status, 0) < 0)
			return err_create_errno(errno, "waiting for '%s'", name);
		if (!WIFSTOPPED(status))
			return err_create("'%s' ended before it had started", name);
		if (WSTOPSIG(status) == SIGTRAP)
			return NULL;
		ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	}
}

/* Whether the process has the file of a C library mapped: the loader is through with mapping. */
static bool has_libraries(pid_t pid)
{
	cleanup(target_close_at) struct target *target = NULL;
	struct err *err = target_open(pid, &target);
	bool found = false;

	for (size_t i = 0; !err && i < target->modules.count; i++)
		found = found || strstr(target->modules.items[i].path, "/libc.so") ||
			strstr(target->modules.items[i].path, "/libc-") ||
			strstr(target->modules.items[i].path, "/ld-musl");
	err_destroy(err);
	return found;
}

/* Runs to the breakpoint once; then pc is at the instruction that was replaced. */
static struct err *run_to(pid_t pid, uint64_t address, long original, const char *name)
{
	struct user_regs_struct registers;
	struct iovec all = {&registers, sizeof(registers)};
	struct err *err;

	if (ptrace(PTRACE_POKETEXT, pid, (void *)address,
		   (void *)(((unsigned long)original & ~BREAKPOINT_MASK) | BREAKPOINT)) ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL))
		return err_create_errno(errno, "holding '%s'", name);
	err = wait_for_stop(pid, name);
	if (err)
		return err;
	if (ptrace(PTRACE_POKETEXT, pid, (void *)address, (void *)original) ||
	    ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all))
		return err_create_errno(errno, "holding '%s'", name);
	registers.MACHINE_PC = address;
	if (ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &all))
		return err_create_errno(errno, "holding '%s'", name);
	return NULL;
}

/* Holds the program when the loader has mapped its libraries: at the second call, mostly. */
static struct err *run_loader(pid_t pid, const char *name)
{
	cleanup(target_close_at) struct target *target = NULL;
	struct loader_state loader = {0};
	struct err *err = target_open(pid, &target);
	uint64_t address;
	long original;

	if (!err)
		err = loader_state_find(target, &loader);
	if (err || !loader.found)
		return err;
	address = loader.address;
	errno = 0;
	original = ptrace(PTRACE_PEEKTEXT, pid, (void *)address, NULL);
	if (errno)
		return err_create_errno(errno, "holding '%s'", name);
	for (int calls = 0; !err && calls < 4; calls++) {
		err = run_to(pid, address, original, name);
		if (err || has_libraries(pid))
			break;
		// Over the instruction, before the breakpoint comes back.
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
			return err_create_errno(errno, "holding '%s'", name);
		err = wait_for_stop(pid, name);
	}
	return err;
}

struct err *launch(char *const argv[], pid_t *ret)
{
	int ends[2], number = 0;
	struct err *err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_create_errno(errno, "a pipe");
	pid = fork();
	if (pid == 0)
		become_program(argv, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_create_errno(errno, "a process for '%s'", argv[0]);
	}
	if (read(ends[0], &number, sizeof(number)) == sizeof(number)) {
		close(ends[0]);
		waitpid(pid, NULL, 0);
		return err_create_errno(number, "cannot run '%s'", argv[0]);
	}
	close(ends[0]);
	err = wait_for_stop(pid, argv[0]);
	// If mallow is killed now, the program goes with it, instead of running into the
	// breakpoint.
	if (!err && ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL))
		err = err_create_errno(errno, "holding '%s'", argv[0]);
	if (!err)
		err = run_loader(pid, argv[0]);
	if (err) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return err;
	}
	*ret = pid;
	return NULL;
}

struct err *launch_release(pid_t pid)
{
	if (ptrace(PTRACE_DETACH, pid, NULL, NULL))
		return err_create_errno(errno, "letting process %d go on", (int)pid);
	return NULL;
}
