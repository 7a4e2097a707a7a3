#include "agent/ground/own_stack.h"

#include "agent/arch/syscall.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/state.h"

#define NAPS   200
#define NAP_NS 100000

// Kept across fork, as a copy.
static uint8_t (*stacks)[OWN_STACK_SIZE];

void own_stack_prepare(void)
{
	void *made = own_pages_allocate(OWN_STACKS * OWN_STACK_SIZE), *none = NULL;

	// Another thread may have been first.
	if (made && !__atomic_compare_exchange_n((void **)&stacks, &none, made, false,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		own_pages_release(made, OWN_STACKS * OWN_STACK_SIZE);
}

static bool is_current(void)
{
	return (uint64_t)__builtin_frame_address(0) - (uint64_t)stacks <
	       OWN_STACKS * OWN_STACK_SIZE;
}

/* Bits of stacks in use. Wiped at fork: no thread of the child is in a slow path. */
static uint32_t *in_use(void)
{
	return &process->own_stacks;
}

/* The number of a stack; -1: all are in use. */
static int try_take(void)
{
	uint32_t used = __atomic_load_n(in_use(), __ATOMIC_RELAXED);

	while (~used) {
		int number = __builtin_ctz(~used);

		if (__atomic_compare_exchange_n(in_use(), &used, used | 1u << number, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return number;
	}
	return -1;
}

void *own_stack_take(void)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};

	if (!stacks || is_current())
		return NULL;
	for (int i = 0; i < NAPS; i++) {
		int number = try_take();

		if (number >= 0)
			return stacks[number] + OWN_STACK_SIZE;
		// Another thread has just installed a seccomp filter.
		if (process_system_calls_forbidden())
			break;
		sys_nanosleep(&nap);
	}
	return NULL;
}

void own_stack_give_back(void *end)
{
	uint64_t number = (uint64_t)((uint8_t(*)[OWN_STACK_SIZE])end - stacks) - 1;

	__atomic_fetch_and(in_use(), ~(1u << number), __ATOMIC_RELEASE);
}
