/*
 * A signal handler forks in the middle of malloc (raising_allocator.c), and the child goes on with
 * it. Argument: what the child does before its malloc is done: nothing, handler (it allocates in
 * the handler that forked), step (in another one: at the first instruction outside of the C library
 * in the first child, at the second in the next, and so on to the hook's last).
 *
 * What a child's recording holds, the second line but for nothing:
 *
 * EXPECT in_child: calls=100 total_bytes=3000 leaked_blocks=0
 * EXPECT in_handler: calls=1 total_bytes=77 leaked_blocks=0
 */
#include "step.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 20
#define DONE  1 /* status of a child that had no such instruction left */

static const char *how;
static int child, steps_left;

static NOINLINE void in_handler(void)
{
	free(keep(malloc(77)));
	STAY();
}

/* The C library's allocator no handler may enter twice. */
static struct code library, program;

static void on_step(int number, siginfo_t *info, void *context)
{
	if (code_has(&program, step_pc(context)))
		_exit(DONE);
	if (code_has(&library, step_pc(context)) || --steps_left > 0)
		return;
	step_on_return(0, context);
	in_handler();
}

static void on_fork(int number, siginfo_t *info, void *context)
{
	int status = -1;
	int pid = fork();

	if (pid == 0) {
		child = 1;
		if (!strcmp(how, "handler"))
			in_handler();
		if (!strcmp(how, "step"))
			step_on_return(1, context);
		return;
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	steps_left = status ? 0 : steps_left + 1;
	REQUIRE(status == 0 || (!strcmp(how, "step") && WEXITSTATUS(status) == DONE));
}

static NOINLINE void in_child(void)
{
	for (int i = 0; i < 100; i++)
		free(keep(malloc(30)));
	STAY();
}

int main(int argc, char **argv)
{
	struct sigaction forks = {.sa_sigaction = on_fork, .sa_flags = SA_SIGINFO};
	struct sigaction steps = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	size_t *raising_size = dlsym(RTLD_DEFAULT, "raising_size");

	REQUIRE(argc == 2 && raising_size);
	how = argv[1];
	library = code_of(waitpid);
	program = code_of(in_handler);
	sigaction(SIGUSR1, &forks, NULL);
	sigaction(SIGTRAP, &steps, NULL);
	steps_left = 1;
	for (int i = 0; !child && steps_left && (i < FORKS || !strcmp(how, "step")); i++) {
		*raising_size = 60;
		free(keep(malloc(60)));
	}
	if (child) {
		in_child();
		_exit(0);
	}
	puts("ok");
	return 7;
}
