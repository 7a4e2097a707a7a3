/*
 * Handles its own system calls (Syscall User Dispatch), but those of the C library: any other, such
 * as one of the agent's, raises SIGSYS. Then forks: the child is not dispatched.
 */
#define _GNU_SOURCE 1
#include "sample.h"

#include <link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile char selector;
static unsigned long start, size;

static int look(struct dl_phdr_info *info, size_t length, void *name)
{
	if (!strstr(info->dlpi_name, name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_flags & PF_X) {
			start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			size = info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static void raised(int number)
{
	selector = 0;
	_exit(9);
}

static NOINLINE void allocate(int count)
{
	for (int i = 0; i < count; i++)
		free(keep(malloc(100)));
	STAY();
}

int main(void)
{
	int status = 0;
	pid_t child;

	signal(SIGSYS, raised);
	dl_iterate_phdr(look, "libc.so");
	allocate(1000);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, start, size, &selector)) {
		puts("no such kernel");
		return 0;
	}
	selector = 1;
	allocate(100000);
	child = fork();
	if (!child) {
		allocate(2000);
		_exit(7);
	}
	waitpid(child, &status, 0);
	allocate(1000);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
