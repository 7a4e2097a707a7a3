#include "cli/run/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/now.h"
#include "hosted/proc.h"

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
				SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP, SIGALRM};

/* The signals that the tool waits for while the program runs, and what they were before. */
struct signals {
	sigset_t waited;
	sigset_t mask_before;
	sigset_t handed_on; /* to the program */
	struct sigaction child_before;
};

static void signals_take(struct signals *signals)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	sigemptyset(&signals->waited);
	sigemptyset(&signals->handed_on);
	sigaddset(&signals->waited, SIGCHLD);
	for (size_t i = 0; i < ARRAY_COUNT(forwarded); i++)
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
 *
 * timeout and service managers send a signal to the tool and to the whole group. What was handed on
 * may come a second time, a moment after the program has ended by it: it is ignored.
 */
static void signals_release(const struct signals *signals)
{
	static const int repeated[] = {SIGTERM, SIGHUP};
	const struct timespec now = {0, 0};

	for (size_t i = 0; i < ARRAY_COUNT(repeated); i++)
		if (sigismember(&signals->handed_on, repeated[i]))
			signal(repeated[i], SIG_IGN);

	while (sigtimedwait(&signals->waited, NULL, &now) > 0)
		;
	signals_restore(signals);
}

static void forward(pid_t child, struct signals *signals, const siginfo_t *info)
{
	if (info->si_code <= 0 && info->si_pid != child)
		sigaddset(&signals->handed_on, info->si_signo);
	if (info->si_code == SI_QUEUE && info->si_pid != child)
		sigqueue(child, info->si_signo, info->si_value);
	else if (info->si_code <= 0 && info->si_pid != child) // SI_USER, SI_TKILL: from a process
		kill(child, info->si_signo);
}

/* The most memory that was resident at once, in bytes. */
static uint64_t most_resident(const struct rusage *usage)
{
	return (uint64_t)usage->ru_maxrss * 1024;
}

/* Handles a change of the program's state. true: it has ended, and how is in *end. */
static bool reap(struct run_child_end *end)
{
	int *status = &end->wait_status;
	struct rusage usage;

	while (wait4(end->pid, status, WUNTRACED | WNOHANG, &usage) == end->pid) {
		if (!WIFSTOPPED(*status)) {
			end->ended_ns = now_ns();
			end->peak = most_resident(&usage);
			return true;
		}
		// The terminal stopped it. SIGSTOP was sent to the program alone, and is meant for
		// it alone.
		if (WSTOPSIG(*status) != SIGSTOP)
			raise(SIGSTOP);
	}
	return false;
}

static void wait_for(struct run_child_end *end, struct signals *signals)
{
	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(&signals->waited, &info);

		if (number == SIGCHLD && reap(end))
			return;
		if (number > 0 && number != SIGCHLD)
			forward(end->pid, signals, &info);
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
	struct rusage usage;
	int report[2]; // closed by a successful exec, else it says why exec failed

	if (pipe2(report, O_CLOEXEC) < 0)
		return errno;
	signals_take(&signals);
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		end.peak_before = most_resident(&usage);
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
	end.process_start = process_start_time((uint32_t)end.pid);
	close(report[1]);
	if (read(report[0], &end.number, sizeof(end.number)) != sizeof(end.number))
		end.number = 0;
	close(report[0]);
	wait_for(&end, &signals);
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
