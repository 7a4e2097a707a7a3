/* Stacks that cross signal frames: raised, on another stack, nested, and interrupting anything. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "agent/unwind/unwind.h"
#include "compare.h"
#include "scenes.h"

#define NOINLINE __attribute__((noinline))

static void handle(int signal)
{
	compare_stack("in a handler", COMPARE_ALL);
	if (signal == SIGUSR1)
		raise(SIGUSR2); // a handler in a handler
	SCENE_KEEP(&signal);
}

static void install(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(signal, &action, NULL);
}

static NOINLINE void raise_deep(int depth)
{
	if (depth == 0)
		raise(SIGUSR1);
	else
		raise_deep(depth - 1);
	SCENE_KEEP(&depth);
}

static sigjmp_buf fault_return;

/* A fault at the first instruction of a function: pc - 1 would be another function. */
__asm__(".text\n"
	"\t.p2align 4\n"
	"scene_before_fault:\n"
	"\t.cfi_startproc\n"
	"\tpush %rbx\n"
	"\t.cfi_def_cfa_offset 16\n"
	"\tpop %rbx\n"
	"\t.cfi_def_cfa_offset 8\n"
	"\tret\n"
	"\t.cfi_endproc\n"
	"scene_fault:\n"
	"\t.cfi_startproc\n"
	"\tmovl $0, 0\n"
	"\tret\n"
	"\t.cfi_endproc\n");
void scene_fault(void);

static void handle_fault_compare(int signal)
{
	compare_stack("fault at a function's start", COMPARE_ALL);
	siglongjmp(fault_return, signal);
}

static uint64_t null_caller;

static void handle_null_call(int signal)
{
	uint64_t pcs[64];
	int end;
	size_t count = compare_capture(pcs, 64, &end);
	bool seen = false;

	// libgcc and libunwind stop at a call through NULL; its caller is the word at sp.
	for (size_t i = 0; i < count; i++)
		seen |= pcs[i] - null_caller < 64;
	compare_expect(seen && end == 0, "call through a null pointer");
	siglongjmp(fault_return, signal);
}

static NOINLINE void call_null(void (*volatile function)(void))
{
	null_caller = (uint64_t)call_null;
	function();
	SCENE_KEEP(&function);
}

void scenes_signals(void)
{
	static char other_stack[256 * 1024];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};

	install(SIGUSR2, handle, 0);
	install(SIGUSR1, handle, 0);
	raise_deep(0);
	raise_deep(20);
	sigaltstack(&stack, NULL);
	install(SIGUSR1, handle, SA_ONSTACK);
	raise_deep(0);
	raise_deep(20);
	install(SIGUSR2, handle, SA_ONSTACK);
	raise_deep(3);
	install(SIGSEGV, handle_fault_compare, SA_NODEFER);
	if (!sigsetjmp(fault_return, 1))
		scene_fault();
	install(SIGSEGV, handle_null_call, SA_NODEFER);
	if (!sigsetjmp(fault_return, 1))
		call_null(NULL);
	install(SIGSEGV, SIG_DFL, 0);
}

static volatile sig_atomic_t storm_hits;
static volatile double sink;

static void handle_storm(int signal)
{
	(void)signal;
	storm_hits++;
	compare_stack("storm", COMPARE_ALL);
}

static NOINLINE int small_leaf(int a, int b)
{
	return a * 3 + b;
}

static NOINLINE int with_saved_registers(int a, int b)
{
	volatile int local[10];

	for (int i = 0; i < 10; i++)
		local[i] = small_leaf(a + i, b);
	return local[a & 7] + small_leaf(b, a);
}

static NOINLINE int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int order(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Prologues, epilogues, PLT slots, string functions, the vdso, formatting, the heap. */
static NOINLINE int mixed_work(int round)
{
	char text[64][32];
	struct timespec now;
	int sum = 0;

	for (int i = 0; i < 64; i++)
		snprintf(text[i], sizeof(text[i]), "%d %g", (i * 37 + round) % 64, i * 0.37);
	qsort(text, 64, sizeof(text[0]), order);
	for (int i = 0; i < 200; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sum += with_saved_registers(i, (int)now.tv_nsec) + abs(sum / 3);
		sum += (int)strlen(text[i & 63]);
		sink = sin(sum) + pow(fabs(sink), 0.5);
	}
	for (int i = 0; i < 50; i++) {
		char *block = malloc((size_t)(i * 97 + 1));

		memset(block, i, (size_t)(i * 97 + 1));
		free(block);
	}
	return sum + fibonacci(12) + atoi(text[5]);
}

static void storm(unsigned hits, int flags)
{
	struct itimerval timer = {.it_value = {0, 200}, .it_interval = {0, 200}};
	struct itimerval none = {0};
	unsigned start = (unsigned)storm_hits;

	install(SIGALRM, handle_storm, flags | SA_RESTART);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; (unsigned)storm_hits - start < hits; i++)
		sink += mixed_work(i);
	setitimer(ITIMER_REAL, &none, NULL);
}

static void handle_in_capture(int signal)
{
	(void)signal;
	storm_hits++;
	compare_stack("in the middle of a capture", COMPARE_LIBGCC);
}

/* Handlers capture while the same thread is capturing, with the rules just forgotten or known. */
static NOINLINE void storm_in_capture(int depth, unsigned hits)
{
	static uint64_t first[256], again[256];
	struct itimerval timer = {.it_value = {0, 100}, .it_interval = {0, 100}};
	struct itimerval none = {0};
	unsigned start = (unsigned)storm_hits;
	size_t count, first_count;
	int end;

	if (depth > 0) {
		storm_in_capture(depth - 1, hits);
		SCENE_KEEP(&depth);
		return;
	}
	install(SIGALRM, handle_in_capture, SA_RESTART);
	setitimer(ITIMER_REAL, &timer, NULL);
	first_count = 0;
	for (unsigned i = 0; (unsigned)storm_hits - start < hits; i++) {
		if (i % 3 == 0)
			compare_forget(0, UINT64_MAX);
		count = compare_capture(i ? again : first, 256, &end);
		first_count = i ? first_count : count;
		// All but the innermost, where the first call is another than the later ones.
		compare_expect(end == UNWIND_COMPLETE && count == first_count &&
				       (i == 0 || memcmp(first + 1, again + 1,
							 (count - 1) * sizeof(first[0])) == 0),
			       "a capture that was interrupted by one");
	}
	setitimer(ITIMER_REAL, &none, NULL);
}

void scenes_storm(void)
{
	const char *hits = getenv("UNWIND_STORM");
	unsigned n = hits ? (unsigned)atoi(hits) : 2000;

	storm(n, 0);
	storm(n, SA_ONSTACK);
	storm_in_capture(30, n);
}
