#include "cli/large_stack.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define LARGE (8u << 20) /* Linux's default */
#define GUARD 65536u     /* below the stack: an overflow ends with a signal */

// A global, because makecontext() passes only ints.
static struct {
	int (*function)(int argc, char **argv);
	int argc;
	char **argv;
	int status;
	ucontext_t here, there;
} call;

static void carry_out(void)
{
	call.status = call.function(call.argc, call.argv);
}

static bool is_large(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LARGE;
}

/* Enlarges the stacks of threads, for which the C library took over the small limit. */
static void enlarge_threads(void)
{
	pthread_attr_t large;

	if (pthread_attr_init(&large) != 0)
		return;
	pthread_attr_setstacksize(&large, LARGE);
	pthread_setattr_default_np(&large);
	pthread_attr_destroy(&large);
}

int large_stack_call(int (*function)(int argc, char **argv), int argc, char **argv)
{
	char *stack;

	if (is_large())
		return function(argc, argv);
	enlarge_threads();
	stack = mmap(NULL, GUARD + LARGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) || getcontext(&call.there))
		return function(argc, argv);
	call.function = function;
	call.argc = argc;
	call.argv = argv;
	call.there.uc_stack.ss_sp = stack + GUARD;
	call.there.uc_stack.ss_size = LARGE;
	call.there.uc_link = &call.here;
	makecontext(&call.there, carry_out, 0);
	swapcontext(&call.here, &call.there);
	return call.status;
}
