/*
 * Code without unwind tables, code that goes away, and code that is none: what the tables do not
 * vouch for. Expectations are stated here, since libgcc and libunwind give up on most of it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/unwind/unwind.h"
#include "compare.h"
#include "scenes.h"

#define NOINLINE __attribute__((noinline))
#define ROOM     256

struct captured {
	uint64_t pcs[ROOM];
	size_t count;
	int end;
};

static struct captured inner, outer;

static NOINLINE void capture_inner(void)
{
	inner.count = compare_capture(inner.pcs, ROOM, &inner.end);
	SCENE_KEEP(&inner);
}

/* From the frame at index on, inner is outer but for outer's own position. */
static bool joins_at(size_t index)
{
	return inner.end == UNWIND_COMPLETE && outer.end == UNWIND_COMPLETE &&
	       inner.count == outer.count + index &&
	       memcmp(inner.pcs + index + 1, outer.pcs + 1, (outer.count - 1) * sizeof(uint64_t)) ==
		       0;
}

/* void f(void (*callback)(void)): a frame with rbp and no table. For registers.c, too. */
void scene_no_table(void (*callback)(void));
__asm__(".text\n"
	"\t.globl scene_no_table\n"
	"\t.hidden scene_no_table\n"
	"scene_no_table:\n"
	"\tpush %rbp\n"
	"\tmov %rsp, %rbp\n"
	"\tsub $48, %rsp\n"
	"\tcall *%rdi\n"
	"\tleave\n"
	"\tret\n"
	"\t.space 64, 0x90\n");

static NOINLINE void without_table(void)
{
	outer.count = compare_capture(outer.pcs, ROOM, &outer.end);
	scene_no_table(capture_inner);
	compare_expect(joins_at(2) && inner.pcs[1] - (uint64_t)scene_no_table < 32,
		       "assembly with a frame pointer");
	SCENE_KEEP(&outer);
}

static void *map_code(void)
{
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
					     0xec, 0x40, 0xff, 0xd7, 0xc9, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof(code));
	return page;
}

static NOINLINE void jitted(void)
{
	void (*code)(void (*)(void)) = (void (*)(void (*)(void)))map_code();

	outer.count = compare_capture(outer.pcs, ROOM, &outer.end);
	code(capture_inner);
	compare_expect(joins_at(2) && inner.pcs[1] - (uint64_t)code < 32, "JIT code");
	munmap((void *)code, 4096);
}

static void *jit_thread(void *argument)
{
	jitted();
	return argument;
}

static uint64_t known_end(const struct unwind_stack *stack)
{
	return (stack->known & ~UINT64_C(4095)) + (stack->known & 4095) * 4096;
}

/* Any value in rbp below code without tables: no crash, and an end in bounded time. */
static NOINLINE void frame_pointer_fuzz(void)
{
	static struct unwind_stack stack;
	struct unwind_state state = {.pc = (uint64_t)scene_no_table + 9};
	uint64_t sp = (uint64_t)__builtin_frame_address(0) & ~7UL;
	uint64_t pcs[ROOM];
	size_t count;

	state.sp = sp;
	state.fp = 0;
	compare_expect(unwind_capture(&state, &stack, pcs, ROOM, &count) == UNWIND_COMPLETE &&
			       count == 1,
		       "a cleared frame pointer ends the stack");
	state.fp = 0x123456789abcdef0;
	compare_expect(unwind_capture(&state, &stack, pcs, ROOM, &count) == UNWIND_BROKEN,
		       "a frame pointer outside of the stack");
	state.fp = sp + 4;
	compare_expect(unwind_capture(&state, &stack, pcs, ROOM, &count) == UNWIND_BROKEN,
		       "a misaligned frame pointer");
	compare_expect(stack.known != 0, "the bounds of the stack are remembered");
	for (state.fp = sp; state.fp < known_end(&stack) + 64; state.fp += 8)
		unwind_capture(&state, &stack, pcs, ROOM, &count);
	for (state.fp = sp - 4096; state.fp < sp; state.fp += 8)
		compare_expect(unwind_capture(&state, &stack, pcs, ROOM, &count) != UNWIND_COMPLETE,
			       "a frame pointer below sp");
}

static NOINLINE void capture_in_big_frame(void)
{
	char memory[200000]; // more than a packed rule can say

	SCENE_KEEP(memory);
	capture_inner();
	SCENE_KEEP(memory);
}

/* Frame pointers that lead to real code, whose frames would end behind the stack. */
static NOINLINE void beyond_the_stack(void)
{
	const size_t size = 65536;
	char *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t end = (uint64_t)memory + size / 2;
	struct unwind_stack stack = {0};
	struct unwind_state state = {.pc = (uint64_t)scene_no_table + 9};
	uint64_t pcs[ROOM];
	size_t count;

	mprotect(memory, size / 2, PROT_READ | PROT_WRITE);
	capture_in_big_frame();
	for (uint64_t room = 16; room < 1024; room += 8) {
		uint64_t *frame = (uint64_t *)(end - room);

		state.sp = end - room;
		state.fp = state.sp;
		// Every second time the frame is its own caller, for code that is based on rbp.
		frame[0] = state.sp + room % 16;
		for (size_t i = 0; i < inner.count; i++) {
			frame[1] = inner.pcs[i];
			unwind_capture(&state, &stack, pcs, ROOM, &count);
			compare_expect(count >= 2 && pcs[1] == inner.pcs[i], "the fake frame");
			compare_expect(unwind_find_frame(&state, &stack, 1) == UNWIND_NOT_FOUND,
				       "a frame in a circle");
		}
	}
	munmap(memory, size);
	unwind_memory_changed((uint64_t)memory, size);
}

/* What musl's and Go's C libraries have: a signal return without a table. */
void scene_restore_rax(void);
void scene_restore_eax(void);
__asm__(".text\n"
	"scene_no_entry_before:\n"
	"\t.space 16, 0x90\n"
	"scene_restore_rax:\n"
	"\tmov $15, %rax\n"
	"\tsyscall\n"
	"\t.space 16, 0x90\n"
	"scene_restore_eax:\n"
	"\tmov $15, %eax\n"
	"\tsyscall\n"
	"\t.space 16, 0x90\n");

static void handle(int signal)
{
	capture_inner();
	SCENE_KEEP(&signal);
}

static NOINLINE void restore_by(void (*restorer)(void), const char *what)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {handle, 0x04000000 /* SA_RESTORER */, restorer, 0};

	outer.count = compare_capture(outer.pcs, ROOM, &outer.end);
	syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	// capture_inner, handle, the restorer, syscall(), us
	compare_expect(inner.count == outer.count + 4 && inner.pcs[2] == (uint64_t)restorer &&
			       joins_at(4),
		       what);
}

static NOINLINE void restorers(void)
{
	restore_by(scene_restore_rax, "signal return without a table");
	restore_by(scene_restore_eax, "short signal return without a table");
}

static void compare_in_plugin(void)
{
	compare_stack("plugin", COMPARE_LIBGCC);
}

static uint64_t run_plugin(const char *directory, const char *name, bool forget)
{
	struct unwind_module module = {0};
	char path[4096];
	int (*run)(void (*)(void));
	void *library;
	uint64_t address;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		compare_expect(false, dlerror());
		return 0;
	}
	run = (int (*)(void (*)(void)))dlsym(library, "plugin_run");
	address = (uint64_t)run;
	run(compare_in_plugin);
	compare_expect(unwind_module_at(address, &module) && module.start <= address &&
			       address < module.end && strstr(module.path, name) &&
			       module.eh_frame_hdr,
		       "the module of a plugin");
	dlclose(library);
	if (forget)
		compare_forget(module.start, module.end);
	return address;
}

static void plugins(const char *directory)
{
	unsigned same = 0;

	for (int i = 0; i < 20; i++) {
		uint64_t a = run_plugin(directory, "unwind_plugin_a.so", true);
		uint64_t b = run_plugin(directory, "unwind_plugin_b.so", true);

		same += a == b;
	}
	compare_expect(same > 0, "two plugins at one address, one after the other");
}

static uint64_t vdso_start;
static volatile unsigned vdso_hits;

static void handle_in_vdso(int signal, siginfo_t *info, void *data)
{
	ucontext_t *context = data;
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)info;
	if (pc - vdso_start >= 8192)
		return;
	vdso_hits++;
	compare_stack("in the vdso", COMPARE_LIBGCC);
}

static void vdso(void)
{
	struct sigaction action = {.sa_sigaction = handle_in_vdso, .sa_flags = SA_SIGINFO};
	struct itimerspec every = {{0, 100000}, {0, 100000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct unwind_module module;
	struct timespec now, start;
	timer_t timer;

	vdso_start = getauxval(AT_SYSINFO_EHDR);
	if (vdso_start == 0)
		return;
	compare_expect(unwind_module_at(vdso_start + 0x400, &module) &&
			       module.start == vdso_start && module.eh_frame_hdr,
		       "the module of the vdso");
	sigaction(SIGUSR2, &action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	clock_gettime(CLOCK_MONOTONIC, &start);
	timer_settime(timer, 0, &every, NULL);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (vdso_hits < 200 && now.tv_sec - start.tv_sec < 10);
	timer_delete(timer);
	compare_expect(vdso_hits > 0, "interrupted in the vdso");
}

void scenes_codes(const char *plugin_directory)
{
	pthread_t thread;

	without_table();
	jitted();
	pthread_create(&thread, NULL, jit_thread, NULL);
	pthread_join(thread, NULL);
	frame_pointer_fuzz();
	beyond_the_stack();
	restorers();
	plugins(plugin_directory);
	vdso();
}
