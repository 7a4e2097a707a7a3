/*
 * Puts itself under a filter of system calls in the ways that programs do, and goes on allocating.
 * Argument: how. A system call that the filter forbids kills the process.
 *
 * EXPECT after: calls=20001 total_bytes=2000100 leaked_blocks=20001
 * EXPECT deep: calls=1 depth=100
 */
#include "sample.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In pages of the stack that were not used before. */
static NOINLINE void deep(int levels)
{
	char memory[2000];

	keep(memory);
	if (levels)
		deep(levels - 1);
	else
		keep(malloc(100));
	STAY();
}

static NOINLINE void after(void)
{
	for (int i = 0; i < 20000; i++)
		keep(malloc(100));
	deep(100);
	STAY();
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ALLOWED
#define ALLOWED       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_write),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_brk),
	ALLOW(SYS_newfstatat),
	// For a child, and a thread.
	ALLOW(SYS_clone),
	ALLOW(SYS_clone3),
	ALLOW(SYS_wait4),
	ALLOW(SYS_set_robust_list),
	ALLOW(SYS_rt_sigprocmask),
	ALLOW(SYS_rt_sigaction),
	ALLOW(SYS_rseq),
	ALLOW(SYS_mmap),
	ALLOW(SYS_mprotect),
	ALLOW(SYS_munmap),
	ALLOW(SYS_madvise),
	ALLOW(SYS_futex),
	ALLOW(SYS_exit),
	ALLOW(SYS_dup2),
	ALLOW(SYS_seccomp),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

static long install(long flags, void *what)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, what);
}

static void *thread(void *argument)
{
	after();
	return argument;
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	pthread_t other;
	int status;

	REQUIRE(argc == 2);
	printf("begin\n");
	fflush(stdout);
	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (!strcmp(how, "strict")) {
		// Nothing but read, write and exit from here on, so no growing heap either.
		for (int i = 0; i < 64; i++)
			free(keep(malloc(100)));
		REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
		for (int i = 0; i < 20000; i++)
			free(keep(malloc(100)));
		REQUIRE(write(1, "ok\n", 3) == 3);
		syscall(SYS_exit, 0);
	}
	if (!strcmp(how, "counter")) {
		REQUIRE(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
		after();
		return 0;
	}
	if (!strcmp(how, "listener")) {
		REQUIRE(install(SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) > 0);
	} else if (!strcmp(how, "probed")) {
		// As libseccomp asks which flags there are.
		for (int i = 0; i < 5; i++)
			REQUIRE(install(1 << i, NULL) == -1 && errno);
		REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1);
		REQUIRE(install(0, &program) == 0);
	} else if (!strcmp(how, "refused")) {
		struct sock_fprog empty = {0, filter};

		for (int i = 0; i < 5; i++)
			REQUIRE(install(0, &empty) == -1);
		after();
		return 0;
	} else {
		REQUIRE(install(0, &program) == 0);
	}
	if (!strcmp(how, "second")) // refused: the first one stays
		REQUIRE(install(1 << 20, &program) == -1);
	if (!strcmp(how, "descriptors"))
		for (int fd = 3; fd < 1024; fd++)
			dup2(1, fd);
	if (!strcmp(how, "child")) {
		int child = fork();

		if (child == 0) {
			after();
			_exit(0);
		}
		REQUIRE(waitpid(child, &status, 0) == child && status == 0);
	}
	if (!strcmp(how, "thread")) {
		REQUIRE(pthread_create(&other, NULL, thread, NULL) == 0);
		REQUIRE(pthread_join(other, NULL) == 0);
	} else {
		after();
	}
	REQUIRE(write(1, "ok\n", 3) == 3);
	_exit(0);
}
