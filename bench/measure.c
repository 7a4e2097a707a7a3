/*
 * Runs one command and tells what its whole process tree used:
 *
 *     measure RESULT SECONDS COMMAND [ARGUMENT…]
 *
 * RESULT becomes one line of JSON. Processes that outlive the command (heaptrack's interpreter,
 * when its shell ends first) come to us as their reaper and are waited for, so nothing is left out.
 * After SECONDS the process group is killed. Static and small: a child counts the memory of its
 * parent before exec, so a larger one would show up as the program's peak.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t command;
static volatile sig_atomic_t timed_out;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void on_alarm(int number)
{
	timed_out = 1;
	kill(-command, SIGKILL);
}

static void start(char **arguments)
{
	command = fork();
	if (command < 0) {
		perror("measure: fork");
		exit(125);
	}
	if (command == 0) {
		setpgid(0, 0);
		execvp(arguments[0], arguments);
		perror(arguments[0]);
		_exit(127);
	}
	setpgid(command, command);
}

/* Until no child is left, ours or adopted. Returns the command's status. */
static int reap_all(int *processes)
{
	int status = 0, one;
	pid_t pid;

	while ((pid = wait(&one)) > 0 || errno == EINTR) {
		if (pid <= 0)
			continue;
		(*processes)++;
		if (pid == command)
			status = WIFEXITED(one) ? WEXITSTATUS(one) : 128 + WTERMSIG(one);
	}
	return status;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct rusage used;
	int status, processes = 0;
	double begin;
	FILE *result;

	if (argc < 4) {
		fprintf(stderr, "usage: measure RESULT SECONDS COMMAND [ARGUMENT…]\n");
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigaction(SIGALRM, &action, NULL);
	begin = now();
	start(argv + 3);
	alarm((unsigned)atoi(argv[2]));
	status = reap_all(&processes);
	begin = now() - begin;
	getrusage(RUSAGE_CHILDREN, &used);

	result = fopen(argv[1], "w");
	if (!result) {
		perror(argv[1]);
		return 125;
	}
	fprintf(result,
		"{\"user\": %.6f, \"system\": %.6f, \"wall\": %.6f, \"peak\": %ld, "
		"\"status\": %d, \"timed_out\": %s, \"reaped\": %d}\n",
		seconds(used.ru_utime), seconds(used.ru_stime), begin, used.ru_maxrss * 1024,
		status, timed_out ? "true" : "false", processes);
	return fclose(result) ? 125 : 0;
}
