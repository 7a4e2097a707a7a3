/*
 * Executes itself by every function that there is, one after the other, while another thread is
 * busy; each image makes one block more than the one before it has left to do.
 */
#include "sample.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum way {
	DONE,
	EXECL,
	EXECLP,
	EXECLE,
	EXECV,
	EXECVE,
	EXECVP,
	EXECVPE,
	FEXECVE,
	EXECVEAT,
	FROM_A_THREAD,
	IN_A_CHILD,
	AFTER_A_FAILURE,
	WITHOUT_ENVIRONMENT,
	RAW,
	WAYS
};

static char *self, number[16];

static NOINLINE void image(int blocks)
{
	for (int i = 0; i < blocks; i++)
		keep(malloc(100));
	STAY();
}

static void *busy(void *argument)
{
	for (;;)
		free(keep(malloc(40)));
	return argument;
}

static void *execute(void *argument)
{
	execv(self, (char *[]){self, number, NULL});
	return argument;
}

static void from_a_thread(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, execute, NULL) == 0);
	pthread_join(thread, NULL);
}

static void in_a_child(void)
{
	int status, child = fork();

	if (child == 0)
		execute(NULL);
	REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
	_exit(WEXITSTATUS(status));
}

static void after_a_failure(void)
{
	static char *nothing[] = {NULL};

	for (int i = 0; i < 100; i++)
		REQUIRE(execve("/no/such/program", nothing, i % 2 ? environ : nothing) < 0);
	REQUIRE(execve("/", nothing, nothing) < 0);
	execute(NULL);
}

static void execute_by(enum way way)
{
	char *const argv[] = {self, number, NULL};

	switch (way) {
	case EXECL:
		execl(self, self, number, (char *)NULL);
		break;
	case EXECLP:
		execlp(self, self, number, (char *)NULL);
		break;
	case EXECLE:
		execle(self, self, number, (char *)NULL, environ);
		break;
	case EXECV:
		execv(self, argv);
		break;
	case EXECVE:
		execve(self, argv, environ);
		break;
	case EXECVP:
		execvp(self, argv);
		break;
	case EXECVPE:
		execvpe(self, argv, environ);
		break;
	case FEXECVE:
		fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ);
		break;
	case EXECVEAT:
		execveat(AT_FDCWD, self, argv, environ, 0);
		break;
	case FROM_A_THREAD:
		from_a_thread();
		break;
	case IN_A_CHILD:
		in_a_child();
		break;
	case AFTER_A_FAILURE:
		after_a_failure();
		break;
	case WITHOUT_ENVIRONMENT:
		execve(self, argv, NULL);
		break;
	// The environment is the caller's: the agent goes along because it is in it.
	case RAW:
		syscall(SYS_execve, self, argv, environ);
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	enum way way = argc > 1 ? (enum way)atoi(argv[1]) : WAYS - 1;
	pthread_t thread;

	self = realpath("/proc/self/exe", NULL);
	image((int)way);
	if (way == DONE) {
		puts("ok");
		return 7;
	}
	REQUIRE(pthread_create(&thread, NULL, busy, NULL) == 0);
	snprintf(number, sizeof(number), "%d", way - 1);
	execute_by(way);
	REQUIRE(!"the image was replaced");
}
