#include "cli/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hosted/cleanup.h"

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
				SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP, SIGALRM};

/* The signals that the tool waits for while the program runs, and what they were before. */
struct signals {
	sigset_t waited;
	sigset_t mask_before;
	struct sigaction child_before;
};

static void signals_take(struct signals *signals)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	sigemptyset(&signals->waited);
	sigaddset(&signals->waited, SIGCHLD);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&signals->waited, forwarded[i]);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		sigaddset(&signals->waited, i);
	sigprocmask(SIG_BLOCK, &signals->waited, &signals->mask_before);
	// If SIGCHLD were ignored, which is inherited, the kernel would reap the program before we
	// know its status.
	sigaction(SIGCHLD, &standard, &signals->child_before);
}

static void signals_restore(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->child_before, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

/*
 * Drops pending signals, such as the ctrl-C that just ended the program: they must not end the tool
 * before the summary. From now on ctrl-C ends the tool.
 */
static void signals_release(const struct signals *signals)
{
	const struct timespec now = {0, 0};

	while (sigtimedwait(&signals->waited, NULL, &now) > 0)
		;
	signals_restore(signals);
}

static void forward(pid_t child, const siginfo_t *info)
{
	if (info->si_code == SI_QUEUE && info->si_pid != child)
		sigqueue(child, info->si_signo, info->si_value);
	else if (info->si_code <= 0 && info->si_pid != child) // SI_USER, SI_TKILL: from a process
		kill(child, info->si_signo);
}

/* Handles a change of the program's state. true: it has ended, with *status. */
static bool reap(pid_t child, int *status)
{
	while (waitpid(child, status, WUNTRACED | WNOHANG) == child) {
		if (!WIFSTOPPED(*status))
			return true;
		// The terminal stopped it. SIGSTOP was sent to the program alone, and is meant for
		// it alone.
		if (WSTOPSIG(*status) != SIGSTOP)
			raise(SIGSTOP);
	}
	return false;
}

static int wait_for(pid_t child, const struct signals *signals)
{
	int status;

	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(&signals->waited, &info);

		if (number == SIGCHLD && reap(child, &status))
			return status;
		if (number > 0 && number != SIGCHLD)
			forward(child, &info);
	}
}

/*
 * Executes the program, in the child. execvpe runs /bin/sh if the kernel says "no executable
 * format".
 */
static void execute(const char *path, char **argv, char **environment, int inherited,
		    const struct signals *signals, int report)
{
	int number;

	signals_restore(signals);
	fcntl(inherited, F_SETFD, 0);
	execvpe(path, argv, environment);
	number = errno;
	if (write(report, &number, sizeof(number)) < 0)
		_exit(126);
	_exit(127);
}

int run_child(const char *path, char **argv, char **environment, int inherited,
	      struct run_child_end *ret)
{
	struct run_child_end end = {0};
	struct signals signals;
	int report[2]; // closed by a successful exec, else it says why exec failed

	if (pipe2(report, O_CLOEXEC) < 0)
		return errno;
	signals_take(&signals);
	end.pid = fork();
	if (end.pid < 0) {
		int number = errno;

		signals_restore(&signals);
		close(report[0]);
		close(report[1]);
		return number;
	}
	if (end.pid == 0)
		execute(path, argv, environment, inherited, &signals, report[1]);
	close(report[1]);
	if (read(report[0], &end.number, sizeof(end.number)) != sizeof(end.number))
		end.number = 0;
	close(report[0]);
	end.wait_status = wait_for(end.pid, &signals);
	signals_release(&signals);
	*ret = end;
	return 0;
}

int run_child_status(const struct run_child_end *end)
{
	if (WIFSIGNALED(end->wait_status))
		return 128 + WTERMSIG(end->wait_status);
	return WEXITSTATUS(end->wait_status);
}
