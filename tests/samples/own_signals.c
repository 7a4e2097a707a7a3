/*
 * Handlers of its own, on an alternate stack, for what the agent's writes could raise, too, and for
 * faults that it causes on purpose and gets over: all while it allocates. Prints how often each
 * came.
 */
#include "sample.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define ROUNDS 200

static volatile sig_atomic_t counts[65];
static sigjmp_buf back;

static void handler(int number)
{
	counts[number]++;
	free(keep(malloc(30)));
	if (number == SIGSEGV || number == SIGBUS)
		siglongjmp(back, 1);
}

static void handle(int number)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};

	REQUIRE(sigaction(number, &action, NULL) == 0);
}

static NOINLINE void work(void)
{
	for (int i = 0; i < 300; i++)
		free(keep(malloc((size_t)i + 1)));
	STAY();
}

/* A signal of each kind by the program's own doing. */
static void provoke(int pipe, int file, char *nowhere)
{
	REQUIRE(raise(SIGUSR1) == 0);
	REQUIRE(write(pipe, "x", 1) == -1);
	REQUIRE(pwrite(file, "x", 1, 1 << 30) == -1);
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
}

int main(void)
{
	static char stack[65536];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct rlimit limit;
	int ends[2];
	char name[] = "/tmp/own_signals_XXXXXX";
	int file = mkstemp(name);
	char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(file >= 0 && unlink(name) == 0 && nowhere != MAP_FAILED);
	REQUIRE(sigaltstack(&other, NULL) == 0 && pipe(ends) == 0 && close(ends[0]) == 0);
	REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	if (limit.rlim_cur > 1 << 29)
		limit.rlim_cur = 1 << 29;
	REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	handle(SIGUSR1);
	handle(SIGPIPE);
	handle(SIGXFSZ);
	handle(SIGSEGV);
	for (int i = 0; i < ROUNDS; i++) {
		work();
		provoke(ends[1], file, nowhere);
	}
	printf("USR1 %d PIPE %d XFSZ %d SEGV %d\n", counts[SIGUSR1], counts[SIGPIPE],
	       counts[SIGXFSZ], counts[SIGSEGV]);
	return 7;
}
