/* A vfork child, which runs in its parent's memory, changes what SIGUSR1 does. For itself. */
#include "sample.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int count;

static void on_signal(int number)
{
	count += number == SIGUSR1;
}

int main(void)
{
	struct sigaction action;
	int status;
	pid_t child;

	REQUIRE(signal(SIGUSR1, on_signal) == SIG_DFL);
	raise(SIGUSR1);
	child = vfork();
	if (!child) {
		signal(SIGUSR1, SIG_DFL);
		execl("/bin/sh", "sh", "-c", "kill -USR1 $$; exit 7", (char *)NULL);
		_exit(1);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	REQUIRE(!sigaction(SIGUSR1, NULL, &action) && action.sa_handler == on_signal);
	raise(SIGUSR1);
	REQUIRE(count == 2);
	puts("ok");
	return 7;
}
