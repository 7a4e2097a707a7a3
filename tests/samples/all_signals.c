/*
 * A program with a use of its own for every signal, SIGUSR1 among them: by handler, by
 * sigtimedwait(), by a descriptor; what it asks about them is answered as without the agent.
 *
 * EXPECT handler: calls=3100 total_bytes=31000 leaked_blocks=0
 */
#include "sample.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t seen[NSIG];

static NOINLINE void handler(int number)
{
	free(keep(malloc(10)));
	seen[number]++;
	STAY();
}

static int usable(int number)
{
	return number != SIGKILL && number != SIGSTOP;
}

/* Nothing is blocked, pending or handled: Python, the tests' parent, ignores SIGPIPE and SIGXFSZ.
 */
static void ask(void)
{
	sigset_t blocked, pending;

	for (int number = 1; number < 32; number++) {
		struct sigaction action;

		REQUIRE(sigaction(number, NULL, &action) == 0);
		REQUIRE(action.sa_handler == SIG_DFL || number == SIGPIPE || number == SIGXFSZ);
		REQUIRE(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
	}
	REQUIRE(sigprocmask(SIG_SETMASK, NULL, &blocked) == 0 && sigpending(&pending) == 0);
	REQUIRE(sigisemptyset(&blocked) && sigisemptyset(&pending));
}

static void by_handler(void)
{
	struct sigaction action = {.sa_handler = handler};
	int sent = 0;

	for (int number = 1; number < 32; number++)
		if (usable(number))
			REQUIRE(sigaction(number, &action, NULL) == 0);
	for (int i = 0; sent < 3100; i++) {
		int number = i % 31 + 1;

		if (!usable(number))
			continue;
		REQUIRE(raise(number) == 0);
		REQUIRE(seen[number] == i / 31 + 1);
		sent++;
	}
}

static void by_waiting(void)
{
	struct timespec now = {0, 0};
	struct signalfd_siginfo info;
	sigset_t both;
	int fd;

	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	REQUIRE(sigprocmask(SIG_BLOCK, &both, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		union sigval value = {.sival_int = i};
		siginfo_t found;

		REQUIRE(sigqueue(getpid(), SIGUSR1, value) == 0);
		free(keep(malloc(20)));
		REQUIRE(sigtimedwait(&both, &found, &now) == SIGUSR1);
		REQUIRE(found.si_value.sival_int == i);
	}
	fd = signalfd(-1, &both, SFD_CLOEXEC | SFD_NONBLOCK);
	REQUIRE(kill(getpid(), SIGUSR2) == 0);
	free(keep(malloc(20)));
	REQUIRE(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR2);
	close(fd);
}

int main(void)
{
	ask();
	by_handler();
	by_waiting();
	puts("ok");
	return 7;
}
