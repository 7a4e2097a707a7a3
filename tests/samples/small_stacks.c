/*
 * Allocations on stacks with little room, and how deep they go. Linked with -z now: the loader
 * takes 3 KB of the stack to bind a function at its first call.
 *
 *     depths           how many bytes of stack each way takes below the function that goes it
 *     fibers           the same ways on stacks of 2 KiB with a guard page below
 *     handlers BYTES   in signal handlers, on BYTES more than the kernel's minimum
 *     threads          in threads of PTHREAD_STACK_MIN
 *
 * EXPECT-FIBERS allocate: calls=100 total_bytes=10000 leaked_blocks=0
 * EXPECT-HANDLERS allocate: calls=100 total_bytes=10000 leaked_blocks=0
 * EXPECT-THREADS allocate: calls=4800 total_bytes=480000 leaked_blocks=0 threads=48
 */
#include "sample.h"

#include <fcntl.h>
#include <limits.h>
#include <mallow/mallow.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM    65536
#define FIBER   2048
#define PAGE    4096
#define PAINT   0xa5
#define MANY    30000
#define THREADS 48 /* more than the agent has stacks of its own */

/* on_stack(run, end): run() on the stack that ends there. without_tables(run): from code of JITs.
 */
void on_stack(void (*run)(void), void *end);
void without_tables(void (*run)(void));
#if defined(__x86_64__)
__asm__(".text\n"
	".type on_stack, @function\n"
	"on_stack:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rsi, %rsp\n"
	"	call *%rdi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type without_tables, @function\n"
	"without_tables:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n");
#elif defined(__i386__)
__asm__(".text\n"
	".type on_stack, @function\n"
	"on_stack:\n"
	"	.cfi_startproc\n"
	"	push %ebp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	.cfi_offset %ebp, -8\n"
	"	mov %esp, %ebp\n"
	"	.cfi_def_cfa_register %ebp\n"
	"	mov 8(%ebp), %eax\n"
	"	mov 12(%ebp), %esp\n"
	"	call *%eax\n"
	"	mov %ebp, %esp\n"
	"	pop %ebp\n"
	"	.cfi_def_cfa %esp, 4\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type without_tables, @function\n"
	"without_tables:\n"
	"	push %ebp\n"
	"	mov %esp, %ebp\n"
	"	sub $8, %esp\n"
	"	call *8(%ebp)\n"
	"	leave\n"
	"	ret\n");
#elif defined(__arm__)
__asm__(".text\n"
	".arm\n"
	".balign 4\n"
	".type on_stack, %function\n"
	"on_stack:\n"
	"	.fnstart\n"
	"	push {r7, lr}\n"
	"	.save {r7, lr}\n"
	"	.setfp r7, sp\n"
	"	mov r7, sp\n"
	"	mov sp, r1\n"
	"	mov lr, pc\n"
	"	bx r0\n"
	"	mov sp, r7\n"
	"	pop {r7, lr}\n"
	"	bx lr\n"
	"	.fnend\n"
	".type without_tables, %function\n"
	"without_tables:\n"
	"	push {r4, lr}\n"
	"	mov lr, pc\n"
	"	bx r0\n"
	"	pop {r4, lr}\n"
	"	bx lr\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".type on_stack, @function\n"
	"on_stack:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset x29, -16\n"
	"	.cfi_offset x30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register x29\n"
	"	mov sp, x1\n"
	"	blr x0\n"
	"	mov sp, x29\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_def_cfa sp, 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type without_tables, @function\n"
	"without_tables:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	mov x29, sp\n"
	"	blr x0\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n");
#elif defined(__riscv)
__asm__(".text\n"
	".type on_stack, @function\n"
	"on_stack:\n"
	"	.cfi_startproc\n"
	"	addi sp, sp, -16\n"
	"	.cfi_def_cfa_offset 16\n"
	"	sd ra, 8(sp)\n"
	"	.cfi_offset ra, -8\n"
	"	sd s0, 0(sp)\n"
	"	.cfi_offset s0, -16\n"
	"	addi s0, sp, 16\n"
	"	.cfi_def_cfa s0, 0\n"
	"	mv sp, a1\n"
	"	jalr a0\n"
	"	addi sp, s0, -16\n"
	"	.cfi_def_cfa sp, 16\n"
	"	ld ra, 8(sp)\n"
	"	ld s0, 0(sp)\n"
	"	addi sp, sp, 16\n"
	"	.cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type without_tables, @function\n"
	"without_tables:\n"
	"	addi sp, sp, -16\n"
	"	sd ra, 8(sp)\n"
	"	sd s0, 0(sp)\n"
	"	addi s0, sp, 16\n"
	"	jalr a0\n"
	"	ld ra, 8(sp)\n"
	"	ld s0, 0(sp)\n"
	"	addi sp, sp, 16\n"
	"	ret\n");
#elif defined(__mips64)
__asm__(".text\n"
	".set push\n"
	".set noreorder\n"
	".globl on_stack, without_tables\n" // calls go through the global offset table
	".type on_stack, @function\n"
	"on_stack:\n"
	"	.cfi_startproc\n"
	"	daddiu $sp, $sp, -16\n"
	"	.cfi_def_cfa_offset 16\n"
	"	sd $31, 8($sp)\n"
	"	.cfi_offset 31, -8\n"
	"	sd $fp, 0($sp)\n"
	"	.cfi_offset 30, -16\n"
	"	move $fp, $sp\n"
	"	.cfi_def_cfa_register 30\n"
	"	move $sp, $5\n"
	"	move $25, $4\n"
	"	jalr $25\n"
	"	nop\n"
	"	move $sp, $fp\n"
	"	.cfi_def_cfa_register 29\n"
	"	ld $31, 8($sp)\n"
	"	ld $fp, 0($sp)\n"
	"	jr $31\n"
	"	daddiu $sp, $sp, 16\n"
	"	.cfi_endproc\n"
	".type without_tables, @function\n"
	"without_tables:\n"
	"	daddiu $sp, $sp, -16\n"
	"	sd $31, 8($sp)\n"
	"	move $25, $4\n"
	"	jalr $25\n"
	"	nop\n"
	"	ld $31, 8($sp)\n"
	"	jr $31\n"
	"	daddiu $sp, $sp, 16\n"
	".set pop\n");
#endif

static void *kept;

static NOINLINE void allocate(void)
{
	free(keep(malloc(100)));
	STAY();
}

static NOINLINE void all_functions(void)
{
	free(keep(calloc(3, 100)));
	free(keep(aligned_alloc(64, 256)));
	free(keep(realloc(keep(malloc(10)), 5000)));
	STAY();
}

static NOINLINE void allocate_large(void)
{
	free(keep(malloc(1 << 20)));
	STAY();
}

static NOINLINE void fail(void)
{
	volatile size_t much = (size_t)PTRDIFF_MAX + 1;

	REQUIRE(!keep(malloc(much)));
}

static NOINLINE void map(void)
{
	void *pages = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(pages != MAP_FAILED);
	munmap(pages, PAGE);
}

static NOINLINE void jit(void)
{
	without_tables(allocate);
	STAY();
}

static unsigned char *caller; /* where its frame begins */

static NOINLINE int compare(const void *a, const void *b)
{
	caller = __builtin_frame_address(0);
	allocate();
	return *(const char *)a - *(const char *)b;
}

/*
 * From a library that was not seen before. Four times, and not by qsort(), which takes 1.2 KB of
 * the stack itself (glibc 2.37).
 */
static NOINLINE void call_back(void)
{
	static const char letters[] = "bcdefghijklmnop";

	keep((void *)bsearch("a", letters, 15, 1, compare));
	STAY();
}

/* More than a slot holds, and than a sample of the memory's time. */
static NOINLINE void allocate_many(void)
{
	for (int i = 0; i < MANY; i++) {
		free(kept);
		kept = keep(malloc(16 + i % 512));
	}
	STAY();
}

static NOINLINE void say_to_mallow(void)
{
	static int pool;

	mallow_set_tag(1);
	mallow_mark("a mark");
	mallow_pool_alloc(&pool, &pool, 4);
	mallow_sync();
	mallow_set_tag(0);
	mallow_stop();
	mallow_start();
}

static void leave(void)
{
	_exit(0);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"malloc", allocate},      {"functions", all_functions},
	{"large", allocate_large}, {"failing", fail},
	{"mapping", map},          {"jit", jit},
	{"callback", call_back},   {"many", allocate_many},
	{"api", say_to_mallow},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

static unsigned char room[ROOM] __attribute__((aligned(PAGE)));

static size_t depth_of(void (*run)(void))
{
	size_t deepest = 0;

	memset(room, PAINT, sizeof(room));
	caller = room + sizeof(room);
	on_stack(run, caller);
	while (room[deepest] == PAINT)
		deepest++;
	return (size_t)(caller - room) - deepest;
}

/* Without stdio, which allocates. */
static void say(const char *name, size_t depth)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s %zu\n", name, depth);

	REQUIRE(write(1, line, (size_t)length) == length);
}

static void say_depths(void)
{
	for (size_t i = 0; i < WAYS; i++)
		say(ways[i].name, depth_of(ways[i].run));
}

static void *say_depth_of_thread(void *unused)
{
	say("thread", depth_of(allocate));
	return unused;
}

/* And the first event of a thread, of a child, and its end: where no function returns. */
static void depths(void)
{
	unsigned char *shared =
		mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t deepest = 0;
	pthread_t thread;

	say_depths();
	REQUIRE(pthread_create(&thread, NULL, say_depth_of_thread, NULL) == 0);
	pthread_join(thread, NULL);
	if (fork() == 0) {
		say("child", depth_of(allocate));
		memset(shared, PAINT, ROOM);
		on_stack(leave, shared + ROOM);
	}
	wait(NULL);
	while (shared[deepest] == PAINT)
		deepest++;
	say("end", ROOM - deepest);
}

static void fibers(void)
{
	unsigned char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(pages != MAP_FAILED && mprotect(pages, PAGE, PROT_NONE) == 0);
	for (int i = 0; i < 94; i++)
		on_stack(allocate, pages + PAGE + FIBER);
	for (size_t i = 0; i < WAYS; i++)
		on_stack(ways[i].run, pages + PAGE + FIBER);
}

static void handle(int number)
{
	(void)number;
	for (int i = 0; i < 10; i++)
		allocate();
}

static void handlers(size_t more)
{
	size_t least = getauxval(AT_MINSIGSTKSZ);
	size_t size = (least ? least : 5120) + more; // emulators do not say it
	size_t whole = (size + PAGE - 1) / PAGE * PAGE;
	unsigned char *pages = mmap(NULL, PAGE + whole, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = pages + PAGE, .ss_size = size};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	REQUIRE(pages != MAP_FAILED && mprotect(pages, PAGE, PROT_NONE) == 0);
	REQUIRE(sigaltstack(&stack, NULL) == 0);
	REQUIRE(sigaction(SIGUSR2, &action, NULL) == 0);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR2);
}

static void *work(void *unused)
{
	for (int i = 0; i < 100; i++)
		allocate();
	return unused;
}

static void threads(void)
{
	pthread_attr_t small;
	pthread_t made[THREADS];

	REQUIRE(pthread_attr_init(&small) == 0);
	REQUIRE(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&made[i], &small, work, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(made[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "depths"))
		depths();
	else if (!strcmp(what, "fibers"))
		fibers();
	else if (!strcmp(what, "handlers"))
		handlers((size_t)atoi(argv[2]));
	else if (!strcmp(what, "threads"))
		threads();
	return 7;
}
