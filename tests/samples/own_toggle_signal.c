/*
 * A program with handlers of its own for the signal that starts and stops its recording. They are
 * called as it has asked for, and it sees nothing of any other.
 */
#include "sample.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static volatile int plain, with_info, blocked, nested;
static volatile int sender;

static void on_plain(int number)
{
	sigset_t mask;

	(void)number;
	plain++;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	blocked = sigismember(&mask, SIGUSR1) << 1 | sigismember(&mask, SIGHUP);
	errno = 0;
}

static void on_info(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	with_info++;
	sender = info->si_pid;
}

static void on_nested(int number)
{
	if (!nested++)
		raise(number); // SA_NODEFER: at once
	else
		nested = 10;
}

/* sigaction(): flags, mask, what it says of the action before. */
static void check_sigaction(void)
{
	struct sigaction action = {.sa_handler = on_plain}, old;

	sigaddset(&action.sa_mask, SIGHUP);
	REQUIRE(!sigaction(SIGUSR1, NULL, &old) && old.sa_handler == SIG_DFL);
	errno = EXDEV;
	raise(SIGUSR1); // the default would end it
	REQUIRE(errno == EXDEV);
	REQUIRE(!sigaction(SIGUSR1, &action, &old) && old.sa_handler == SIG_DFL);
	errno = EXDEV;
	raise(SIGUSR1);
	REQUIRE(plain == 1 && blocked == 3 && errno == 0); // the program's handler may change it
	action = (struct sigaction){.sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_RESTART};
	REQUIRE(!sigaction(SIGUSR1, &action, &old));
	REQUIRE(old.sa_handler == on_plain && !old.sa_flags && sigismember(&old.sa_mask, SIGHUP));
	REQUIRE(!kill(getpid(), SIGUSR1));
	REQUIRE(with_info == 1 && sender == getpid());
	REQUIRE(!sigaction(SIGUSR1, NULL, &old));
	REQUIRE(old.sa_sigaction == on_info && old.sa_flags == (SA_SIGINFO | SA_RESTART));
	action = (struct sigaction){.sa_handler = on_nested, .sa_flags = SA_NODEFER};
	REQUIRE(!sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	REQUIRE(nested == 10);
	errno = 0;
	REQUIRE(sigaction(SIGKILL, &action, NULL) == -1 && errno == EINVAL);
}

/* The older functions; SIG_IGN and SIG_DFL do not stop the switch from working. */
static void check_others(void)
{
	struct sigaction action = {.sa_handler = on_plain, .sa_flags = SA_RESETHAND};

	plain = 0;
	REQUIRE(!sigaction(SIGUSR1, &action, NULL));
	raise(SIGUSR1);
	raise(SIGUSR1);
	REQUIRE(plain == 1);
	REQUIRE(signal(SIGUSR1, on_plain) == SIG_DFL);
	raise(SIGUSR1);
	REQUIRE(plain == 2 && signal(SIGUSR1, SIG_IGN) == on_plain);
	raise(SIGUSR1);
	REQUIRE(plain == 2 && signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	raise(SIGUSR1);
	REQUIRE(plain == 2 && signal(SIGUSR2, on_plain) == SIG_DFL);
	raise(SIGUSR2); // nobody's but the program's
	REQUIRE(plain == 3);
}

int main(void)
{
	check_sigaction(); // 5 switches, with the nested one
	check_others();    // 5
	free(keep(malloc(12345)));
	raise(SIGUSR1); // 11 in all: off
	free(keep(malloc(54321)));
	puts("ok");
	return 7;
}
