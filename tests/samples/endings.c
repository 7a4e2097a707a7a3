/*
 * Ends in one of the ways that there are, while another thread is in the middle of allocating.
 * Argument: the way, or the number of a signal to send to itself.
 *
 * EXPECT work: calls=1000 total_bytes=50000 leaked_blocks=1000
 * EXPECT-EXIT at_exit: calls=1 total_bytes=11 leaked_blocks=1
 * EXPECT-QUICK quickly: calls=1 total_bytes=12 leaked_blocks=1
 */
#include "sample.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int stop;
static volatile int zero;
static void *volatile nowhere;

static NOINLINE void work(void)
{
	for (int i = 0; i < 1000; i++)
		keep(malloc(50));
	STAY();
}

static NOINLINE void at_exit(void)
{
	keep(malloc(11));
	STAY();
}

static NOINLINE void quickly(void)
{
	keep(malloc(12));
	STAY();
}

static NOINLINE void in_handler(int number)
{
	keep(malloc(13));
	_exit(number == SIGSEGV ? 7 : 8);
}

static void *busy(void *argument)
{
	while (!atomic_load(&stop))
		free(keep(malloc(40)));
	return argument;
}

static void *exits(void *argument)
{
	exit(7);
	return argument;
}

static void touch_behind_the_end_of_a_file(void)
{
	FILE *file = tmpfile();
	char *page;

	REQUIRE(file);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
	REQUIRE(page != MAP_FAILED);
	zero = *(volatile char *)page;
}

/* Every frame has a block, so that the stack ends inside of the library now and then. */
static NOINLINE size_t overflow(size_t levels)
{
	volatile char room[64];

	room[levels % 64] = (char)levels;
	free(keep(malloc(20)));
	return overflow(levels + 1) + (size_t)room[levels % 64];
}

static void handle_on_other_stack(int number)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};

	REQUIRE(sigaltstack(&other, NULL) == 0);
	REQUIRE(sigaction(number, &action, NULL) == 0);
}

static void end(const char *how)
{
	pthread_t thread;

	if (!strcmp(how, "exit"))
		exit(7);
	else if (!strcmp(how, "_exit"))
		_exit(7);
	else if (!strcmp(how, "_Exit"))
		_Exit(7);
	else if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	else if (!strcmp(how, "exit_group"))
		syscall(SYS_exit_group, 7);
	else if (!strcmp(how, "thread"))
		pthread_create(&thread, NULL, exits, NULL);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "null"))
		*(volatile char *)nowhere = 1;
	else if (!strcmp(how, "divide"))
		zero = 1000 / zero;
	else if (!strcmp(how, "illegal"))
		__builtin_trap();
	else if (!strcmp(how, "breakpoint"))
		__asm__ volatile("int3");
	else if (!strcmp(how, "bus"))
		touch_behind_the_end_of_a_file();
	else if (!strcmp(how, "overflow") || !strcmp(how, "overflow_handled"))
		zero = (int)overflow(0);
	else
		kill(getpid(), atoi(how));
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	REQUIRE(argc == 2);
	REQUIRE(atexit(at_exit) == 0);
	REQUIRE(at_quick_exit(quickly) == 0);
	if (!strcmp(argv[1], "overflow_handled"))
		handle_on_other_stack(SIGSEGV);
	REQUIRE(pthread_create(&thread, NULL, busy, NULL) == 0);
	work();
	puts("ok");
	fflush(stdout);
	if (!strcmp(argv[1], "return"))
		return 7;
	if (!strcmp(argv[1], "last_thread")) { // the process ends with its last thread, status 0
		atomic_store(&stop, 1);
		pthread_exit(NULL);
	}
	end(argv[1]);
}
