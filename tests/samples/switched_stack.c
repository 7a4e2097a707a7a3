/*
 * Runs on stacks that a C function switches to in assembly. Where the compiler finds that
 * function's frame by rsp (-O2), its caller lies beyond the end of the new stack, as the unwind
 * tables have it: in a guard page, or in another stack. Where it does by rbp (-O0), the stack goes
 * on where it came from.
 *
 * EXPECT allocate: calls=500 total_bytes=16000
 */
#include "sample.h"

#include <sys/mman.h>

#define PAGE   4096
#define SIZE   (16 * PAGE)
#define STACKS 10

static NOINLINE __attribute__((used)) void allocate(void)
{
	for (int i = 0; i < 5; i++)
		free(keep(malloc(32)));
	STAY();
}

static NOINLINE void switch_to(char *top)
{
	__asm__ volatile("mov %%rsp, %%rbx\n"
			 "\tmov %0, %%rsp\n"
			 "\tcall allocate\n"
			 "\tmov %%rbx, %%rsp"
			 :
			 : "r"(top)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc",
			   "memory");
	STAY();
}

/* A guard page, a stack, a guard page; the other stacks are mapped below. */
static char *make_stack(void)
{
	char *memory = mmap(NULL, SIZE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(memory != MAP_FAILED);
	REQUIRE(mprotect(memory + PAGE, SIZE, PROT_READ | PROT_WRITE) == 0);
	return memory + PAGE;
}

int main(void)
{
	char *stacks[STACKS];

	for (int i = 0; i < STACKS; i++) {
		stacks[i] = make_stack();
		for (int j = 0; j < 5; j++)
			switch_to(stacks[i] + SIZE);
	}
	// The upper page of each becomes its guard: it was read, and cannot be read any more.
	for (int i = 0; i < STACKS; i++) {
		REQUIRE(mprotect(stacks[i] + SIZE - PAGE, PAGE, PROT_NONE) == 0);
		for (int j = 0; j < 5; j++)
			switch_to(stacks[i] + SIZE - PAGE);
		REQUIRE(munmap(stacks[i] - PAGE, SIZE + 2 * PAGE) == 0);
	}
	return 7;
}
