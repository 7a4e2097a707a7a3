/*
 * A handler stops and starts the recording in the middle of a malloc, a realloc and a free: at
 * their first instruction outside of the C library, at the second, and so on to the last.
 */
#include "sample.h"

#include <link.h>
#include <mallow/mallow.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG 0x100 /* of the processor: SIGTRAP after each instruction */
#define SYSCALL   "\x0f\x05"
#define STEPS     29 /* from one place to the next: the agent does some hundred a call */

static int steps_left, switched;
static struct {
	unsigned long start, end;
} library; // the C library: its allocator's locks are not for handlers

static int find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		unsigned long start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if ((unsigned long)usleep - start < info->dlpi_phdr[i].p_memsz) {
			library.start = start;
			library.end = start + info->dlpi_phdr[i].p_memsz;
		}
	}
	return 0;
}

static void on_step(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	if ((unsigned long)registers[REG_RIP] - library.start < library.end - library.start)
		return;
	// The agent blocks signals now and then, and a trap then would be the end: not this time.
	if (--steps_left > 0 && memcmp((void *)registers[REG_RIP], SYSCALL, 2))
		return;
	registers[REG_EFL] &= ~TRAP_FLAG;
	switched = 1;
	if (steps_left > 0)
		return;
	mallow_stop();
	mallow_start();
}

/* The trap flag may be set by its owner, but no further than the red zone. */
static inline void step(unsigned long flag)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushf\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popf\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "r"(flag)
			 : "memory", "cc");
}

/* One call of each, one of which is stepped through. Whether its end was not reached first. */
static int run(int which, int steps)
{
	void *block;

	steps_left = steps;
	switched = 0;
	if (which == 0)
		step(TRAP_FLAG);
	block = keep(malloc(60));
	step(which == 1 ? TRAP_FLAG : 0);
	block = keep(realloc(block, 3000));
	step(which == 2 ? TRAP_FLAG : 0);
	free(block);
	step(0);
	return switched;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	dl_iterate_phdr(find_library, NULL);
	sigaction(SIGTRAP, &action, NULL);
	for (int which = 0; which < 3; which++)
		for (int steps = 1; steps < 2000 && run(which, steps); steps += STEPS)
			run(-1, 0);
	puts("ok");
	return 7;
}
