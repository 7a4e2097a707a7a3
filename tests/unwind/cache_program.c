#include "cache_program.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "scenes.h"

#define NOINLINE __attribute__((noinline))

#define COROUTINES  5 /* the first is the thread itself */
#define STACK_SIZE  (192 * 1024)
#define GUARD       4096
#define ROOM_NEEDED (48 * 1024) /* of stack, for a capture, a handler and libgcc's unwinder */
#define CODE_SIZE   4096
#define CODE_PLACES 4

/* What may be done where the program is now. A frame that changes it puts it back. */
struct flow {
	jmp_buf *target;  /* of longjmp, NULL: none */
	unsigned catches; /* frames that catch an exception, with nothing in between that forbids */
	bool held;        /* in a handler: no switch to another coroutine */
};

struct coroutine {
	ucontext_t context;
	char *stack; /* its lowest address */
	bool live;
	struct flow flow;
};

struct program {
	struct cache_check *check;
	unsigned long end;
	struct coroutine coroutines[COROUTINES];
	unsigned current;
	char *other_stack; /* of signal handlers */
	char *code;
};

typedef void call_act(cache_program_act *act, void *program, unsigned depth);

/* For handlers and new coroutines. */
static __thread struct program *self;

static uint64_t below(struct program *program, uint64_t n)
{
	return cache_check_below(program->check, n);
}

static struct flow *flow(struct program *program)
{
	return &program->coroutines[program->current].flow;
}

static bool done(const struct program *program)
{
	return program->check->captures >= program->end;
}

/* Whether this stack has room for more frames. */
static bool has_room(const struct program *program)
{
	const char *sp = __builtin_frame_address(0);
	const char *low = program->other_stack;

	if (sp - low >= STACK_SIZE || sp < low)
		low = program->coroutines[program->current].stack;
	return sp - low > ROOM_NEEDED;
}

static cache_program_act act;

/* Frames of one size that return to one of two places. */
#define FRAME(number, size)                                                                        \
	static NOINLINE void frame_##number(struct program *program, unsigned depth)               \
	{                                                                                          \
		char memory[size];                                                                 \
                                                                                                   \
		SCENE_KEEP(memory);                                                                \
		if (below(program, 2)) {                                                           \
			act(program, depth);                                                       \
			__asm__ volatile("nop # one of two");                                      \
		} else {                                                                           \
			act(program, depth);                                                       \
			__asm__ volatile("nop # the other");                                       \
		}                                                                                  \
		SCENE_KEEP(memory);                                                                \
	}

FRAME(0, 8)
FRAME(1, 8)
FRAME(2, 8)
FRAME(3, 24)
FRAME(4, 40)
FRAME(5, 40)
FRAME(6, 200)
FRAME(7, 3000)

static NOINLINE void with_alloca(struct program *program, unsigned depth)
{
	char *memory = alloca(16 + below(program, 4) * 16);

	SCENE_KEEP(memory);
	act(program, depth);
	SCENE_KEEP(memory);
}

/* Its arguments on the stack make gcc find the frame by way of memory. */
static NOINLINE void realigned(struct program *program, unsigned depth, int a, int b, int c, int d,
			       int e, int on_stack)
{
	char memory[64] __attribute__((aligned(64)));

	memset(memory, a + b + c + d + e + on_stack, sizeof(memory));
	SCENE_KEEP(memory);
	act(program, depth);
	SCENE_KEEP(memory);
}

static NOINLINE void realigned_alloca(struct program *program, unsigned depth)
{
	char memory[32] __attribute__((aligned(32)));
	char *more = alloca(16 + below(program, 8) * 16);

	SCENE_KEEP(memory);
	SCENE_KEEP(more);
	act(program, depth);
	SCENE_KEEP(memory);
}

static NOINLINE long registers(struct program *program, unsigned depth, long a, long b, long c)
{
	long d = a * 3 + b, e = b * 5 + c, f = c * 7 + a, g = d ^ e;

	SCENE_KEEP(d);
	act(program, depth);
	return a + b * c + d * e + f * g;
}

/* act(program, depth) from code without unwind tables: with a frame pointer, and with none at all.
 */
extern const char cache_no_table[], cache_no_table_cleared[], cache_no_table_end[];
__asm__(".text\n"
	"\t.globl cache_no_table, cache_no_table_cleared, cache_no_table_end\n"
	"\t.hidden cache_no_table, cache_no_table_cleared, cache_no_table_end\n"
	"cache_no_table:\n"
	"\tpush %rbp\n"
	"\tmov %rsp, %rbp\n"
	"\tmov %rdi, %rax\n"
	"\tmov %rsi, %rdi\n"
	"\tmov %edx, %esi\n"
	"\tcall *%rax\n"
	"\tpop %rbp\n"
	"\tret\n"
	"cache_no_table_cleared:\n"
	"\tpush %rbp\n"
	"\txor %ebp, %ebp\n"
	"\tnop\n"
	"\tmov %rdi, %rax\n"
	"\tmov %rsi, %rdi\n"
	"\tmov %edx, %esi\n"
	"\tcall *%rax\n"
	"\tpop %rbp\n"
	"\tret\n"
	"cache_no_table_end:\n"
	"\t.space 64, 0x90\n");

/* Nothing can be thrown across what has no tables. */
static NOINLINE void without_table(struct program *program, unsigned depth)
{
	static const char *const codes[] = {cache_no_table, cache_no_table_cleared,
					    cache_no_table_end};
	struct flow before = *flow(program);
	unsigned which = (unsigned)below(program, 2);
	const char *code = codes[which];

	flow(program)->catches = 0;
	// As a compiler at run time does: other code at an address that was code before. Not where
	// it may be running further out.
	if (!before.held && program->current == 0 && below(program, 2)) {
		char *copy = program->code + 64 * below(program, CODE_PLACES);

		if (!copy[32]) {
			memcpy(copy, code, (size_t)(codes[which + 1] - code));
			copy[32] = 1;
			((call_act *)(uintptr_t)copy)(act, program, depth);
			copy[32] = 0;
			*flow(program) = before;
			return;
		}
	}
	((call_act *)(uintptr_t)code)(act, program, depth);
	*flow(program) = before;
}

static NOINLINE void with_target(struct program *program, unsigned depth)
{
	const struct flow before = *flow(program);
	jmp_buf target;

	if (_setjmp(target) == 0) {
		flow(program)->target = &target;
		act(program, depth);
	}
	// Handlers and frames without tables that were left this way put nothing back.
	*flow(program) = before;
	cache_check_here(program->check);
}

static NOINLINE void with_catch(struct program *program, unsigned depth)
{
#ifdef WITH_CXX
	const struct flow before = *flow(program);

	flow(program)->catches++;
	cache_throw_across(program->check, act, program, depth);
	*flow(program) = before;
#else
	with_target(program, depth);
#endif
}

static NOINLINE void leave(struct program *program)
{
	if (flow(program)->catches && below(program, 2)) {
#ifdef WITH_CXX
		cache_throw(program->check);
#endif
	} else if (flow(program)->target) {
		_longjmp(*flow(program)->target, 1);
	}
}

static void handle(int signal)
{
	const struct flow before = *flow(self);

	flow(self)->held = true;
	flow(self)->catches = 0;
	cache_check_here(self->check);
	act(self, (unsigned)below(self, 4));
	*flow(self) = before;
	SCENE_KEEP(&signal);
}

static void run_coroutine(void)
{
	for (;;)
		act(self, (unsigned)below(self, 10));
}

static void *map(size_t size, int protection)
{
	void *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* Its stack is memory only while it lives. */
static void start_coroutine(struct coroutine *coroutine)
{
	cache_check_map(coroutine->stack, STACK_SIZE, PROT_READ | PROT_WRITE);
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = coroutine->stack;
	coroutine->context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&coroutine->context, run_coroutine, 0);
	coroutine->flow = (struct flow){0};
	coroutine->live = true;
}

static NOINLINE void switch_to(struct program *program, unsigned other)
{
	unsigned current = program->current;

	if (other == current || flow(program)->held)
		return;
	if (!program->coroutines[other].live)
		start_coroutine(&program->coroutines[other]);
	program->current = other;
	swapcontext(&program->coroutines[current].context, &program->coroutines[other].context);
	cache_check_here(program->check);
}

/* Left in the middle of what it does, for good. */
static void end_coroutine(struct program *program)
{
	unsigned which = 1 + (unsigned)below(program, COROUTINES - 1);
	struct coroutine *coroutine = &program->coroutines[which];

	if (which == program->current || !coroutine->live)
		return;
	cache_check_map(coroutine->stack, STACK_SIZE, PROT_NONE);
	coroutine->live = false;
	cache_check_here(program->check);
}

static NOINLINE void recurse(struct program *program, unsigned depth, unsigned frames)
{
	if (frames == 0 || !has_room(program))
		act(program, depth);
	else if (frames % 3)
		recurse(program, depth, frames - 1);
	else
		recurse(program, depth, frames - 1);
	SCENE_KEEP(&frames);
}

static void call_frame(struct program *program, unsigned depth)
{
	static void (*const frames[])(struct program *, unsigned) = {
		frame_0, frame_1, frame_2, frame_3,     frame_4,
		frame_5, frame_6, frame_7, with_alloca, realigned_alloca,
	};

	switch (below(program, 14)) {
	case 0:
		return realigned(program, depth, 1, 2, 3, 4, 5, 6);
	case 1:
	case 2:
		SCENE_KEEP(registers(program, depth, 1, 2, 3));
		return;
	case 3:
		return with_target(program, depth);
	default:
		frames[below(program, sizeof(frames) / sizeof(frames[0]))](program, depth);
	}
}

/* A loop that calls two functions in turn. */
static NOINLINE void call_again(struct program *program)
{
	static void (*const frames[])(struct program *, unsigned) = {frame_0, frame_3, frame_6,
								     realigned_alloca};
	unsigned one = (unsigned)below(program, 4), other = (unsigned)below(program, 4);

	for (unsigned i = 0; i < 20; i++)
		frames[i % 2 ? one : other](program, 0);
}

static void move(struct program *program, unsigned depth)
{
	switch (below(program, 256)) {
	case 0 ... 11:
		return leave(program);
	case 12 ... 19:
		return with_catch(program, depth);
	case 20 ... 23:
		raise(below(program, 2) ? SIGUSR1 : SIGUSR2);
		return;
	case 24 ... 31:
		return switch_to(program, (unsigned)below(program, COROUTINES));
	case 32:
		return end_coroutine(program);
	case 33 ... 36:
		return without_table(program, depth);
	case 37 ... 39:
		return call_again(program);
	case 40:
		return recurse(program, depth / 2, 1 + (unsigned)below(program, 900));
	case 41 ... 110:
		return cache_check_here(program->check);
	default:
		return call_frame(program, depth);
	}
}

static void act(void *data, unsigned depth)
{
	struct program *program = data;

	for (uint64_t n = 1 + below(program, 4); n > 0; n--) {
		if (done(program)) {
			switch_to(program, 0);
			return;
		}
		if (depth == 0 || !has_room(program))
			cache_check_here(program->check);
		else
			move(program, depth - 1);
	}
}

void cache_program_init(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NODEFER};

	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags |= SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
}

static void prepare(struct program *program)
{
	pthread_attr_t attributes;
	void *stack;
	size_t size;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &stack, &size);
	pthread_attr_destroy(&attributes);
	program->coroutines[0].stack = stack;
	program->coroutines[0].live = true;
	for (unsigned i = 1; i < COROUTINES; i++)
		program->coroutines[i].stack =
			(char *)map(STACK_SIZE + 2 * GUARD, PROT_NONE) + GUARD;
	program->other_stack = map(STACK_SIZE, PROT_READ | PROT_WRITE);
	program->code = map(CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
}

void cache_program_run(struct cache_check *check, unsigned long captures)
{
	struct program program = {.check = check, .end = check->captures + captures};
	stack_t other = {.ss_size = STACK_SIZE}, none = {.ss_flags = SS_DISABLE};

	check->what = "random program";
	self = &program;
	prepare(&program);
	other.ss_sp = program.other_stack;
	sigaltstack(&other, NULL);
	while (!done(&program))
		act(&program, (unsigned)below(&program, 16));
	sigaltstack(&none, NULL);
	for (unsigned i = 1; i < COROUTINES; i++)
		munmap(program.coroutines[i].stack - GUARD, STACK_SIZE + 2 * GUARD);
	munmap(program.other_stack, STACK_SIZE);
	munmap(program.code, CODE_SIZE);
}
