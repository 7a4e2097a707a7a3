/*
 * What happens in the middle of a malloc whose stack others have divided into parts, of a thread
 * that meets it for the first time: behind the first instruction that locks memory, or behind the
 * next one, then the second, and so on. Argument: `jump`, a handler leaves by longjmp, or `fork`,
 * it forks and returns, in the child, too. Behind that each thread allocates 1000 blocks more by
 * each of these stacks.
 *
 * Prints how often that was so and how many blocks there were by these stacks for sure, and then a
 * report of its own.
 */
#include "step.h"

#include <mallow/mallow.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK     "\xf0"
#define DEPTHS   3 /* as many stacks */
#define STEPPERS 60
#define DIVIDERS 2
#define PAIRS    300000
#define KEPT     1000

static int jumps, child, locks_left, steps_left, times;
static struct code library;
static sigjmp_buf out;
static sem_t done, never;
static pthread_barrier_t dividers;

static void on_step(int number, siginfo_t *info, void *context)
{
	unsigned long pc = step_pc(context);
	int pid, status = -1;

	(void)number, (void)info;
	if (code_has(&library, pc))
		return;
	// The agent blocks signals now and then, and a trap then would be the end: not this time.
	if (step_is_system_call(pc))
		locks_left = steps_left = 0;
	else if (locks_left > 0) {
		locks_left -= !memcmp((void *)pc, LOCK, 1);
		return;
	} else if (--steps_left > 0)
		return;
	step_on_return(0, context);
	if (step_is_system_call(pc))
		return;
	times++;
	if (jumps)
		siglongjmp(out, 1);
	pid = fork();
	child = pid == 0;
	if (!child)
		REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static NOINLINE void *make(int depth, int stepped)
{
	void *block;

	if (depth) {
		block = make(depth - 1, stepped);
	} else {
		step(stepped);
		block = keep(malloc(64));
		step(0);
	}
	STAY();
	return block;
}

static NOINLINE void use(int depth, int count, int stays, int stepped)
{
	if (sigsetjmp(out, 1))
		return;
	for (int i = 0; i < count; i++) {
		void *block = make(depth, stepped);

		if (!stays)
			free(block);
	}
	STAY();
}

/* All of them come to use() by one and the same call. They stay, so that each is another thread. */
static void *run(void *argument)
{
	int number = (int)(long)argument, divides = number < 0;

	free(keep(malloc(64)));
	for (int call = 0; call < 2 * DEPTHS; call++) {
		int stepped = !divides && call % 2 == 0;

		if (divides)
			pthread_barrier_wait(&dividers);
		locks_left = 1 + number / 2;
		steps_left = 1 + number % 2;
		use(call / 2, divides ? PAIRS : stepped ? 1 : KEPT, !divides && !stepped, stepped);
		if (child)
			_exit(0);
	}
	sem_post(&done);
	sem_wait(&never);
	return NULL;
}

static void start(int number)
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, run, (void *)(long)number));
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	struct mallow_site_report *report;

	jumps = argc > 1 && argv[1][0] == 'j';
	library = code_of(usleep);
	sigaction(SIGTRAP, &action, NULL);
	pthread_barrier_init(&dividers, NULL, DIVIDERS);
	for (int i = 0; i < DIVIDERS; i++)
		start(-1);
	for (int i = 0; i < DIVIDERS; i++)
		sem_wait(&done);
	for (int i = 0; i < STEPPERS; i++) {
		start(i);
		sem_wait(&done);
	}
	printf("%d %d\n", times, DEPTHS * (2 * DIVIDERS * PAIRS + STEPPERS * (KEPT + 1)) - times);
	fflush(stdout);
	report = mallow_site_report(NULL, NULL);
	REQUIRE(report && !mallow_site_report_print(report, STDOUT_FILENO, MALLOW_JSON));
	sample_fail(7);
}
