/*
 * Code without unwind tables that switches stacks, as Go's asmcgocall does: its frame pointer leads
 * back to the stack that it came from. argv[1]: "garbage": the register holds something else;
 * "wait": says "ready", keeps the blocks after a line of input, says "done", waits for another.
 *
 * EXPECT allocate: calls=100 total_bytes=3200
 * EXPECT outer: calls=100
 */
#include "sample.h"

#include <stdint.h>
#include <sys/mman.h>

#define SIZE 65536

/* These keep frame pointers, and have no entry in the tables. */
void call_on(void (*function)(void), void *top);
void call_keeping(void (*function)(void), void *top);
/* Saves it twice, as Go's crosscall2 does: C called from Go called from C. */
void call_twice(void (*function)(void), void *top);
/* This one uses rbp otherwise. */
void call_with(void (*function)(void), uintptr_t rbp);
__asm__(".text\n"
	"call_keeping:\n"
	"\tpush %rbp\n\tmov %rsp, %rbp\n"
	"\tcall call_on\n"
	"\tpop %rbp\n\tret\n"
	"call_twice:\n"
	"\tpush %rbp\n\tmov %rsp, %rbp\n\tpush %rbp\n\tmov %rsp, %rbp\n"
	"\tsub $8, %rsp\n\tcall call_on\n\tadd $8, %rsp\n"
	"\tpop %rbp\n\tpop %rbp\n\tret\n"
	"call_on:\n"
	"\tpush %rbp\n\tmov %rsp, %rbp\n\tmov %rsi, %rsp\n"
	"\tcall *%rdi\n"
	"\tmov %rbp, %rsp\n\tpop %rbp\n\tret\n"
	"call_with:\n"
	"\tpush %rbp\n\tmov %rsi, %rbp\n\tcall *%rdi\n"
	"\tpop %rbp\n\tret\n");

static int keeps;

static NOINLINE void allocate(void)
{
	void *block = keep(malloc(32));

	if (!keeps)
		free(block);
	STAY();
}

static NOINLINE void outer(char *top)
{
	for (int i = 0; i < 100; i++)
		(i % 2 ? call_keeping : call_twice)(allocate, top);
	STAY();
}

/* rbp leads to words that look like frames at first: unaligned, unreadable, one, none, a circle. */
static NOINLINE void garbage(char *memory)
{
	uintptr_t *words = (uintptr_t *)memory, here = (uintptr_t)__builtin_return_address(0);
	uintptr_t all[] = {1,
			   8,
			   (uintptr_t)words + 1,
			   (uintptr_t)words,
			   (uintptr_t)(words + 2),
			   (uintptr_t)(words + 4),
			   (uintptr_t)(words + 6),
			   (uintptr_t)&all[0] - 4096,
			   (uintptr_t)memory + SIZE - 8,
			   UINTPTR_MAX - 7,
			   UINTPTR_MAX / 2 & -8};

	words[1] = here; // the next one is 0
	words[2] = (uintptr_t)(words + 8);
	words[3] = here; // the next one has no return address
	words[4] = (uintptr_t)(words + 4);
	words[5] = here; // is its own next one
	words[6] = (uintptr_t)memory + SIZE;
	words[7] = here; // the next one cannot be read
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		call_with(allocate, all[i]);
	STAY();
}

int main(int argc, char **argv)
{
	char *memory =
		mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(memory != MAP_FAILED && mprotect(memory + SIZE, SIZE, PROT_NONE) == 0);
	if (argc > 1 && argv[1][0] == 'w') {
		keeps = 1;
		puts("ready");
		fflush(stdout);
		getchar();
		outer(memory + SIZE);
		puts("done");
		fflush(stdout);
		getchar();
		return 7;
	}
	if (argc > 1 && argv[1][0] == 'g')
		garbage(memory);
	else
		outer(memory + SIZE);
	puts("ok");
	return 7;
}
