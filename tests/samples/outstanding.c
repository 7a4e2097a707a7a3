/*
 * Keeps known blocks for `mallow memleak`. Reads words from standard input, does what each says,
 * and answers "done WORD"; says "ready" first.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone)) void

/* So that nothing is a tail call, and no block looks unused. */
static void *volatile kept;
static volatile size_t huge = (size_t)1 << 60;

static void keep(void *block)
{
	if (!block)
		abort();
	kept = block;
}

// EXPECT keep_malloc: bytes=1001 blocks=1
KEEP keep_malloc(void)
{
	keep(malloc(1001));
}
// EXPECT keep_calloc: bytes=1212 blocks=1
KEEP keep_calloc(void)
{
	keep(calloc(12, 101));
}
// EXPECT keep_new_realloc: bytes=303 blocks=1
KEEP keep_new_realloc(void)
{
	keep(realloc(NULL, 303));
}
// EXPECT keep_grown: bytes=4040 blocks=1
KEEP keep_grown(void)
{
	keep(realloc(malloc(10), 4040));
}
// EXPECT keep_reallocarray: bytes=505 blocks=1
KEEP keep_reallocarray(void)
{
	keep(reallocarray(NULL, 5, 101));
}
// EXPECT keep_posix_memalign: bytes=606 blocks=1
KEEP keep_posix_memalign(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 64, 606))
		abort();
	keep(block);
}
// EXPECT keep_aligned_alloc: bytes=704 blocks=1
KEEP keep_aligned_alloc(void)
{
	keep(aligned_alloc(64, 704));
}
// EXPECT keep_memalign: bytes=808 blocks=1
KEEP keep_memalign(void)
{
	keep(memalign(128, 808));
}
// EXPECT keep_valloc: bytes=909 blocks=1
KEEP keep_valloc(void)
{
	keep(valloc(909));
}
// EXPECT-GLIBC keep_pvalloc: bytes=1010 blocks=1
KEEP keep_pvalloc(void)
{
#ifdef __GLIBC__
	keep(pvalloc(1010));
#endif
}
// EXPECT keep_large: bytes=2600000 blocks=13
KEEP keep_large(void)
{
	for (int i = 0; i < 13; i++)
		keep(malloc(200000));
}
// EXPECT-GLIBC keep_strdup: bytes=23 blocks=1
KEEP keep_strdup(void)
{
	keep(strdup("twenty-two characters!"));
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}
// EXPECT keep_mmap: bytes=8192 blocks=1
KEEP keep_mmap(void)
{
	keep(map(8192));
}
// EXPECT keep_part: bytes=4096 blocks=1
KEEP keep_part(void)
{
	char *at = map(16 * 4096);

	if (munmap(at, 15 * 4096))
		abort();
	keep(at + 15 * 4096);
}
// EXPECT keep_hole: bytes=12288 blocks=2
KEEP keep_hole(void)
{
	char *at = map(5 * 4096);

	if (munmap(at + 4096, 2 * 4096))
		abort();
	keep(at);
}
// EXPECT keep_mremap: bytes=20480 blocks=1
KEEP keep_mremap(void)
{
	void *at = mremap(map(4096), 4096, 20480, MREMAP_MAYMOVE);

	if (at == MAP_FAILED)
		abort();
	keep(at);
}
/* A realloc that fails frees nothing. */
// EXPECT keep_not_grown: bytes=77 blocks=1
KEEP keep_not_grown(void)
{
	void *block = malloc(77);

	if (realloc(block, huge))
		abort();
	keep(block);
}
/* A mremap that fails unmaps nothing. */
// EXPECT keep_not_moved: bytes=4096 blocks=1
KEEP keep_not_moved(void)
{
	void *at = map(4096);

	if (mremap(at, 4096, huge, MREMAP_MAYMOVE) != MAP_FAILED)
		abort();
	keep(at);
}
/* None of these allocates anything. */
KEEP fail(void)
{
	void *block = (void *)0x1234;

	if (malloc(huge) || calloc(huge, 1 << 8) || reallocarray(NULL, huge, 1 << 8) ||
	    !posix_memalign(&block, 64, huge) || aligned_alloc(64, huge) ||
	    mmap(NULL, huge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		abort();
	errno = 0;
}
KEEP give_back(void)
{
	void *block = NULL;
	void *mapped = map(4096);

	free(malloc(10));
	free(calloc(10, 10));
	free(realloc(malloc(11), 100));
	if (posix_memalign(&block, 64, 12))
		abort();
	free(block);
	free(malloc(300000));
	if (munmap(mapped, 4096))
		abort();
	free(NULL);
	free(realloc(malloc(13), 0));
}

/* Deeper than what is kept of a stack. */
__attribute__((noinline, noclone)) static int deep(int left)
{
	volatile char here[16] = {0};

	if (left == 0)
		keep(malloc(31));
	else
		here[0] = (char)deep(left - 1);
	return here[0];
}

static void *in_thread(void *unused)
{
	keep_malloc();
	return unused;
}

static void run_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		abort();
}

/* Maps 5000 pieces of code, as far as /proc/PID/maps can tell. */
static void map_code(void)
{
	char *pages = map(10000 * 4096);

	for (int i = 0; i < 10000; i += 2)
		if (mprotect(pages + i * 4096, 4096, PROT_READ | PROT_EXEC))
			abort();
}

static void *free_it(void *block)
{
	free(block);
	return NULL;
}

/* A thread's first call is free: glibc maps an arena of 64 MB for it then. */
static void run_freeing_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, free_it, malloc(50)) || pthread_join(thread, NULL))
		abort();
}

/* A frame that covers where a call's return address was, and does not write there. */
KEEP keep_below_old_frames(void)
{
	volatile char unwritten[1024];

	unwritten[0] = 1;
	keep(malloc(5000));
	unwritten[1] = unwritten[0];
}

__attribute__((noinline, noclone)) static void call_something_small(void)
{
	kept = malloc(8);
	free(kept);
}

static void cover(void)
{
	for (int i = 0; i < 1000; i++) {
		call_something_small();
		keep_below_old_frames();
	}
}

static volatile int handled;

static void on_alarm(int number)
{
	void *at = map(5000);

	handled += munmap(at, 5000) == 0;
}

/* Signals interrupt malloc, and their handler maps memory on a stack that lies higher. */
static void *interrupted(void *signal_stack)
{
	const stack_t stack = {.ss_sp = signal_stack, .ss_size = 65536};
	const struct sigaction action = {.sa_handler = on_alarm,
					 .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval timer = {{0, 300}, {0, 300}};

	if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &timer, NULL))
		abort();
	while (handled < 300)
		free(malloc(300000));
	timer = (struct itimerval){0};
	setitimer(ITIMER_REAL, &timer, NULL);
	return NULL;
}

static void run_interrupted(void)
{
	void *signal_stack = map(65536); // the thread's stack comes below
	sigset_t alarm;
	pthread_t thread;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	if (pthread_create(&thread, NULL, interrupted, signal_stack) ||
	    pthread_sigmask(SIG_BLOCK, &alarm, NULL) || pthread_join(thread, NULL))
		abort();
}

/* The child begins at SIGUSR1: whoever follows children has found it then. */
static void run_child(void)
{
	sigset_t begin;
	int number;
	pid_t pid;

	sigemptyset(&begin);
	sigaddset(&begin, SIGUSR1);
	sigprocmask(SIG_BLOCK, &begin, NULL);
	pid = fork();
	if (pid == 0) {
		sigwait(&begin, &number);
		keep_malloc();
		keep_mmap();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void all(void)
{
	keep_malloc(), keep_calloc(), keep_new_realloc(), keep_grown(), keep_reallocarray();
	keep_posix_memalign(), keep_aligned_alloc(), keep_memalign(), keep_valloc();
	keep_pvalloc(), keep_large(), keep_strdup(), keep_mmap(), keep_part(), keep_hole();
	keep_mremap(), keep_not_grown(), keep_not_moved(), fail(), give_back();
}

/* Allocates and frees as fast as it can, for so many times. */
static void pairs(long count)
{
	for (long i = 0; i < count; i++) {
		kept = malloc(64);
		free(kept);
	}
}

int main(void)
{
	char word[64];

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("ready\n");
	while (scanf("%63s", word) == 1) {
		if (!strcmp(word, "all"))
			all();
		else if (!strcmp(word, "leak"))
			keep_malloc();
		else if (!strcmp(word, "deep"))
			deep(400);
		else if (!strcmp(word, "thread"))
			run_thread();
		else if (!strcmp(word, "freeing-thread"))
			run_freeing_thread();
		else if (!strcmp(word, "code"))
			map_code();
		else if (!strcmp(word, "cover"))
			cover();
		else if (!strcmp(word, "interrupted"))
			run_interrupted();
		else if (!strcmp(word, "fork"))
			run_child();
		else if (!strcmp(word, "exec"))
			execl("/proc/self/exe", "again", NULL);
		else if (!strcmp(word, "end"))
			return 7;
		else
			pairs(atol(word));
		printf("done %s\n", word);
	}
	return 7;
}
