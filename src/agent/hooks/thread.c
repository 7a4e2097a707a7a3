/* Hooks for the start and the name of a thread. */
#include <errno.h>

#include "agent/arch/trampoline.h"
#include "agent/hooks/hooks.h"
#include "agent/life/thread.h"

/* What a new thread will run. Kept here until it starts. */
struct start {
	struct trampoline_start trampoline; /* first */
	uint32_t used;                      /* atomic */
	void *(*function)(void *argument);
	void *argument;
};

// For threads between their creation and their first instruction: there are few at a time.
#define STARTS 256
static struct start starts[STARTS];

static struct start *claim_start(void)
{
	for (int i = 0; i < STARTS; i++) {
		uint32_t free = 0;

		if (__atomic_compare_exchange_n(&starts[i].used, &free, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return &starts[i];
	}
	return NULL;
}

static void release_start(struct start *start)
{
	__atomic_store_n(&start->used, 0, __ATOMIC_RELEASE);
}

/* Called in the new thread, before the program's function: begins its recording. */
static struct trampoline_target enter_thread(struct trampoline_start *argument)
{
	struct start *start = (struct start *)argument;
	struct trampoline_target target = {start->function, start->argument};

	release_start(start);
	if (!toggle_is_off())
		thread_begin_slow(false);
	return target;
}

int hook_pthread_create(unsigned long *thread, const void *attributes, void *(*function)(void *),
			void *argument)
{
	struct start *start;
	int result;

	hooks_resolve();
	if (!real.pthread_create)
		return EAGAIN;
	start = process_state() == PROCESS_RECORDING ? claim_start() : NULL;
	// Without it the thread begins at its first event.
	if (!start)
		return real.pthread_create(thread, attributes, function, argument);
	start->trampoline.enter = enter_thread;
	start->function = function;
	start->argument = argument;
	thread_set_passing(true);
	result = real.pthread_create(thread, attributes, trampoline, start);
	thread_set_passing(false);
	if (result)
		release_start(start);
	return result;
}

int hook_pthread_setname_np(unsigned long thread, const char *name)
{
	int result;

	hooks_resolve();
	if (!real.pthread_setname_np)
		return 0;
	result = real.pthread_setname_np(thread, name);
	// Another thread's new name is noticed when that thread next looks at its own.
	if (result == 0 && real.pthread_self && real.pthread_self() == thread)
		thread_renamed();
	return result;
}
