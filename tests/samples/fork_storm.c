/*
 * A timer's handler forks at any instruction, the agent's own included, and the child goes on with
 * what was interrupted: frees it and allocates. Arguments: how many forks, and how: fork, _Fork,
 * syscall, allocate (in the handler, before the fork and after it), jump (the child leaves the
 * handler by longjmp), thread (another one allocates meanwhile), nested (the child forks, too).
 *
 * A child that does not end as it should ends the program with status 3.
 */
#include "sample.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define CHILD_BLOCKS 300

extern int _Fork(void) __attribute__((weak));

static volatile sig_atomic_t left, child, stopping, waiting;
static const char *how = "fork";
static sigjmp_buf out;

static unsigned long rounds;

/* The next signal, once the program has gone on for a moment that is never the same. */
static void wind_up(void)
{
	static unsigned long seed = 1;
	struct itimerval timer = {{0, 0}, {0, 0}};

	seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	timer.it_value.tv_usec = 20 + (seed >> 33) % 200;
	setitimer(ITIMER_REAL, &timer, NULL);
}

static int how_is(const char *name)
{
	return !strcmp(how, name);
}

static int copy_process(void)
{
	if (how_is("syscall"))
		return (int)syscall(SYS_fork);
	// The C library's fork() would wait for its allocator, which was interrupted, too.
	if ((how_is("_Fork") || how_is("thread")) && _Fork)
		return _Fork();
	return fork();
}

static void check(int pid)
{
	int status = -1;

	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (status)
		fprintf(stderr, "a child ended with %x\n", status);
	REQUIRE(status == 0);
}

static NOINLINE void in_handler(void)
{
	free(keep(malloc(77)));
	STAY();
}

static unsigned long library_start, library_end;

/* The C library's own code: its allocator, if anything of it is interrupted here. */
static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		unsigned long start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if ((unsigned long)waitpid - start < info->dlpi_phdr[i].p_memsz) {
			library_start = start;
			library_end = start + info->dlpi_phdr[i].p_memsz;
		}
	}
	return 0;
}

/* No handler may allocate there, and none may leave: that is no fault of anybody else's. */
static int in_allocator(const ucontext_t *context)
{
	return (unsigned long)context->uc_mcontext.gregs[REG_RIP] - library_start <
	       library_end - library_start;
}

static void handler(int number, siginfo_t *info, void *context)
{
	int pid;

	(void)number;
	(void)info;
	if (child || left <= 0)
		return;
	if ((how_is("allocate") || how_is("jump")) && in_allocator(context)) {
		wind_up();
		return;
	}
	if (how_is("allocate"))
		in_handler();
	pid = copy_process();
	if (pid) {
		waiting = 1;
		check(pid);
		waiting = 0;
		left--;
		wind_up();
		return;
	}
	child = 1;
	if (how_is("nested")) {
		pid = copy_process();
		if (pid)
			check(pid);
	}
	if (how_is("allocate"))
		in_handler();
	if (how_is("jump"))
		siglongjmp(out, 1);
}

static NOINLINE void *deeper(int depth, size_t size)
{
	void *block = depth ? deeper(depth - 1, size) : keep(malloc(size));

	STAY();
	return block;
}

/* In a child: what it does before its end. */
static NOINLINE void in_child(void)
{
	for (int i = 0; i < CHILD_BLOCKS; i++)
		free(deeper(i % 20, 60));
	STAY();
}

static void *beside(void *argument)
{
	while (!stopping)
		if (waiting) // for a child, which takes long: only what is done at the fork matters
			usleep(20);
		else
			free(keep(malloc(70)));
	return argument;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_RESTART | SA_SIGINFO};
	pthread_t other;

	REQUIRE(argc == 3);
	left = atoi(argv[1]);
	how = argv[2];
	dl_iterate_phdr(find_library, NULL);
	REQUIRE(sigaction(SIGALRM, &action, NULL) == 0);
	if (how_is("thread")) {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		REQUIRE(pthread_create(&other, NULL, beside, NULL) == 0);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	}
	wind_up();
	if (sigsetjmp(out, 1) == 0)
		while (left > 0 && !child) {
			void *block = deeper((int)(rounds % 20), 50 + rounds % 50);

			block = realloc(block, 200);
			free(block);
			rounds++;
		}
	if (child) {
		in_child();
		_exit(0);
	}
	stopping = 1;
	if (how_is("thread"))
		pthread_join(other, NULL);
	puts("ok");
	return 7;
}
