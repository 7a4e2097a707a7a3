#include "agent/record/timed_write.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/wait.h>

#include "agent/arch/clone_stack.h"
#include "agent/arch/syscall.h"

#define WAIT_NS 100000000

/* The process: only raw system calls (clone_stack.h). */
static void make_write(void *argument)
{
	struct timed_write *write = argument;
	struct iovec parts[2] = {{&write->head, sizeof(write->head)},
				 {(void *)write->rest, write->size - sizeof(write->head)}};
	struct kernel_stat status;

	write->result = syscall_raw(CALL_FSTAT, write->fd, (long)&status, 0, 0, 0, 0);
	if (write->result == 0)
		write->result = status.st_dev != write->device || status.st_ino != write->inode
					? -EBADF
					: syscall_raw(SYS_pwritev, write->fd, (long)parts, 2,
						      OFFSET_HALVES(write->offset), 0);
	__atomic_store_n(&write->done, 1, __ATOMIC_RELEASE);
	syscall_raw(CALL_FUTEX, (long)&write->done, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	for (;;)
		syscall_raw(SYS_exit, 0, 0, 0, 0, 0, 0);
}

bool timed_write_wait(struct timed_write *write)
{
	static const struct kernel_time most = {.tv_nsec = WAIT_NS};
	int pid;

	// All signals are blocked, so the call returns early only because the word has changed.
	if (!timed_write_is_done(write))
		syscall6(CALL_FUTEX, (long)&write->done, FUTEX_WAIT_PRIVATE, 0, (long)&most, 0, 0);
	if (!timed_write_is_done(write))
		return false;
	// Its stack lies in the struct. Somebody else may have waited for it.
	pid = __atomic_exchange_n(&write->pid, 0, __ATOMIC_RELAXED);
	while (pid && sys_wait4(pid, __WALL) == -EINTR)
		;
	return true;
}

enum timed_result timed_write_run(struct timed_write *write)
{
	long pid;

	write->done = 0;
	pid = clone_stack(CLONE_VM | CLONE_FILES | CLONE_FS, write->stack + sizeof(write->stack),
			  make_write, write);
	if (pid < 0)
		return TIMED_NONE;
	write->pid = (int)pid;
	return timed_write_wait(write) ? TIMED_DONE : TIMED_LATE;
}
