/*
 * Frames that are found by another register than rsp and rbp: hand-written ones, and the loader's
 * own while it binds a function at its first call. rbx and r12 to r15 are then known only from
 * where the frames further in have saved them.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/unwind/unwind.h"
#include "compare.h"
#include "scenes.h"

#define NOINLINE __attribute__((noinline))
#define ROOM     256

/* void f(void (*callback)(void)): CFA = reg + 16, the stack pointer is somewhere below. */
#define FRAME_BY(reg)                                                                              \
	void scene_frame_by_##reg(void (*callback)(void));                                         \
	__asm__(".text\n"                                                                          \
		"scene_frame_by_" #reg ":\n"                                                       \
		"\t.cfi_startproc\n"                                                               \
		"\tpush %" #reg "\n"                                                               \
		"\t.cfi_def_cfa_offset 16\n"                                                       \
		"\t.cfi_offset " #reg ", -16\n"                                                    \
		"\tmov %rsp, %" #reg "\n"                                                          \
		"\t.cfi_def_cfa " #reg ", 16\n"                                                    \
		"\tsub $200, %rsp\n"                                                               \
		"\tand $-64, %rsp\n"                                                               \
		"\tcall *%rdi\n"                                                                   \
		"\tmov %" #reg ", %rsp\n"                                                          \
		"\t.cfi_def_cfa rsp, 16\n"                                                         \
		"\tpop %" #reg "\n"                                                                \
		"\t.cfi_def_cfa_offset 8\n"                                                        \
		"\t.cfi_restore " #reg "\n"                                                        \
		"\tret\n"                                                                          \
		"\t.cfi_endproc\n")

FRAME_BY(rbx);
FRAME_BY(r12);
FRAME_BY(r13);
FRAME_BY(r14);
FRAME_BY(r15);

/* The same signature: rbx is kept in r12, and then destroyed. */
void scene_rbx_in_r12(void (*callback)(void));
/* rbx is destroyed, and the table says so. */
void scene_rbx_lost(void (*callback)(void));
__asm__(".text\n"
	"scene_rbx_in_r12:\n"
	"\t.cfi_startproc\n"
	"\tpush %r12\n"
	"\t.cfi_def_cfa_offset 16\n"
	"\t.cfi_offset r12, -16\n"
	"\tmov %rbx, %r12\n"
	"\t.cfi_register rbx, r12\n"
	"\tmov $0x1234, %ebx\n"
	"\tcall *%rdi\n"
	"\tmov %r12, %rbx\n"
	"\t.cfi_restore rbx\n"
	"\tpop %r12\n"
	"\t.cfi_def_cfa_offset 8\n"
	"\t.cfi_restore r12\n"
	"\tret\n"
	"\t.cfi_endproc\n"
	"scene_rbx_lost:\n"
	"\t.cfi_startproc\n"
	"\tpush %rbx\n"
	"\t.cfi_def_cfa_offset 16\n"
	"\t.cfi_undefined rbx\n"
	"\tmov $0x1234, %ebx\n"
	"\tcall *%rdi\n"
	"\tpop %rbx\n"
	"\t.cfi_def_cfa_offset 8\n"
	"\tret\n"
	"\t.cfi_endproc\n");

void scene_no_table(void (*callback)(void)); // codes.c

static const char *what;

static void compare(void)
{
	compare_stack(what, COMPARE_ALL);
}

/* Frames that save all registers and have values of their own in them. */
static NOINLINE long compare_deep(int depth, long a, long b, long c)
{
	long d = a * 3 + b, e = b * 5 + c, f = c * 7 + a, g = d ^ e;

	SCENE_KEEP(d);
	if (depth == 0)
		compare_stack(what, COMPARE_ALL);
	else
		d += compare_deep(depth - 1, e, f, g);
	SCENE_KEEP(d);
	return a + b + c + d + e + f + g;
}

static void compare_below(void)
{
	for (int i = 0; i < 6; i++)
		compare_deep(i, i, 2, 3);
}

static void by_r15(void)
{
	scene_frame_by_r15(compare_below);
}

static void by_r12_and_r15(void)
{
	scene_frame_by_r12(by_r15);
}

static void by_rbx_within(void)
{
	scene_frame_by_rbx(by_r12_and_r15);
}

static void moved(void)
{
	scene_rbx_in_r12(compare_below);
}

static NOINLINE void handwritten(void)
{
	static void (*const frames[])(void (*)(void)) = {
		scene_frame_by_rbx, scene_frame_by_r12, scene_frame_by_r13,
		scene_frame_by_r14, scene_frame_by_r15,
	};

	what = "a frame by another register";
	for (unsigned i = 0; i < 5; i++) {
		frames[i](compare);
		frames[i](compare_below);
	}
	what = "frames by several registers";
	scene_frame_by_r13(by_rbx_within);
	what = "rbx in r12";
	scene_frame_by_rbx(moved);
	SCENE_KEEP(frames);
}

static uint64_t captured[ROOM];
static size_t captured_count;
static int captured_end;

static NOINLINE void capture(void)
{
	captured_count = compare_capture(captured, ROOM, &captured_end);
	SCENE_KEEP(captured);
}

static void lose(void)
{
	scene_rbx_lost(capture);
	SCENE_KEEP(captured);
}

static void leave_tables(void)
{
	scene_no_table(capture);
	SCENE_KEEP(captured);
}

/* Nobody knows rbx any more: the frame is in the stack, and nothing outside of it. */
static NOINLINE void unknown(void)
{
	scene_frame_by_rbx(lose);
	compare_expect(captured_end == UNWIND_BROKEN && captured_count == 4 &&
			       captured[3] - (uint64_t)scene_frame_by_rbx < 32,
		       "a frame by a register that is lost");
	scene_frame_by_rbx(leave_tables);
	compare_expect(captured_end == UNWIND_BROKEN && captured_count == 4 &&
			       captured[3] - (uint64_t)scene_frame_by_rbx < 32,
		       "a frame by a register, behind code without a table");
}

/* A state that is not on the current stack: its registers cannot be those of now. */
static NOINLINE void foreign_state(void)
{
	static uint64_t memory[64];
	static struct unwind_stack stack;
	struct unwind_state state = {.sp = (uint64_t)&memory[8], .fp = 0};
	size_t count;

	scene_frame_by_rbx(capture);
	state.pc = captured[1];
	compare_expect(unwind_capture(&state, &stack, captured, ROOM, &count) == UNWIND_BROKEN &&
			       count == 1,
		       "a frame by a register, on another stack");
	state.sp = (uint64_t)__builtin_frame_address(0) + 16;
	compare_expect(unwind_capture(&state, &stack, captured, ROOM, &count) == UNWIND_BROKEN &&
			       count == 1,
		       "a frame by a register, with another's stack pointer");
}

static uint64_t outer_cfa;
static enum unwind_nesting nesting;

static NOINLINE void ask(void)
{
	static struct unwind_stack stack;
	struct unwind_state state = {
		.pc = (uint64_t)__builtin_return_address(0),
		.sp = (uint64_t)__builtin_frame_address(0) + 16,
		.fp = *(uint64_t *)__builtin_frame_address(0),
	};

	nesting = unwind_find_frame(&state, &stack, outer_cfa);
}

static void raise_in_it(void)
{
	raise(SIGUSR1);
}

static void compare_in_handler(int signal)
{
	compare_deep(2, signal, 2, 3);
}

static int (*lazy_run)(int n, void (*call)(void));

static __attribute__((noinline, section("scene_hooks"))) void hook_that_binds(int n)
{
	outer_cfa = (uint64_t)__builtin_frame_address(0) + 16;
	compare_expect(lazy_run(n, ask) == 43, "a function bound late");
}

static void bind_and_compare(int n, void (*call)(void), const char *name)
{
	unsigned long before = compare_count();

	what = name;
	compare_expect(lazy_run(n, call) == 43 && compare_count() > before, name);
}

/* Nobody can say what the frame without a table did to rbx; but the loader's next one saved it. */
static NOINLINE void bind_behind_no_table(void)
{
	uint64_t outer[ROOM];
	size_t count;
	int end;

	count = compare_capture(outer, ROOM, &end);
	compare_expect(lazy_run(5, leave_tables) == 43 && end == UNWIND_COMPLETE &&
			       captured_end == UNWIND_COMPLETE && captured_count > count + 3 &&
			       memcmp(captured + captured_count - count + 1, outer + 1,
				      (count - 1) * sizeof(outer[0])) == 0,
		       "lazy binding behind code without a table");
	SCENE_KEEP(outer);
}

static NOINLINE void lazy_binding(const char *directory)
{
	static char other_stack[65536];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {.sa_handler = compare_in_handler};
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/unwind_lazy.so", directory);
	library = dlopen(path, RTLD_LAZY);
	compare_expect(library, "the library to bind");
	if (!library)
		return;
	lazy_run = (int (*)(int, void (*)(void)))dlsym(library, "lazy_run");
	bind_and_compare(0, compare, "lazy binding");
	bind_and_compare(1, compare_below, "deep in lazy binding");
	bind_and_compare(2, by_rbx_within, "other frames in lazy binding");
	sigaction(SIGUSR1, &action, NULL);
	bind_and_compare(3, raise_in_it, "in a handler in lazy binding");
	action.sa_flags = SA_ONSTACK;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	bind_and_compare(4, raise_in_it, "in a handler on another stack in lazy binding");
	bind_behind_no_table();
	hook_that_binds(6);
	compare_expect(nesting == UNWIND_FOUND, "a hook outside of lazy binding");
}

void scenes_registers(const char *plugin_directory)
{
	handwritten();
	unknown();
	foreign_state();
	lazy_binding(plugin_directory);
}
