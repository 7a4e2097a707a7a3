/*
 * Fibers as boost.context and its like make them: a switch of a few instructions without unwind
 * tables, stacks of 8 KiB from malloc, which are given back and used again by the next fiber;
 * fibers that end, throw and catch, and one that is resumed by another thread.
 *
 * EXPECT work: calls=2000 total_bytes=80000 leaked_blocks=0
 * EXPECT thrower: calls=3000 leaked_blocks=0
 * EXPECT elsewhere: calls=2 total_bytes=200 leaked_blocks=2 threads=2
 */
#include "sample.h"

#include <cstdint>
#include <stdexcept>
#include <thread>

#define STACK  8192
#define ROUNDS 1000

/* switch_stack(&mine, other): saves what a function must keep, and the stack pointer; goes over. */
extern "C" void switch_stack(void **mine, void *other);
__asm__(".text\n"
	"switch_stack:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	"	ret\n");

struct fiber {
	void *stack_pointer, *resumer;
	char *stack;
	void (*run)(struct fiber *self);
	bool ended;
};

static thread_local struct fiber *entering;

static void enter()
{
	struct fiber *self = entering;

	self->run(self);
	self->ended = true;
	switch_stack(&self->stack_pointer, self->resumer);
	REQUIRE(!"an ended fiber is not resumed");
}

static void begin(struct fiber *fiber, void (*run)(struct fiber *self))
{
	void **top;

	*fiber = {};
	fiber->run = run;
	fiber->stack = static_cast<char *>(malloc(STACK));
	top = reinterpret_cast<void **>(fiber->stack + STACK);
	top[-1] = nullptr; // the outermost frame's return address
	top[-2] = reinterpret_cast<void *>(enter);
	for (int i = 3; i <= 8; i++)
		top[-i] = nullptr;
	fiber->stack_pointer = top - 8;
}

static NOINLINE void resume(struct fiber *fiber)
{
	entering = fiber;
	switch_stack(&fiber->resumer, fiber->stack_pointer);
	STAY();
}

static void yield(struct fiber *self)
{
	switch_stack(&self->stack_pointer, self->resumer);
}

static NOINLINE void thrower()
{
	delete static_cast<int *>(keep(new int));
	throw std::runtime_error("x");
}

static NOINLINE void work(struct fiber *self)
{
	void *block = keep(malloc(40));

	yield(self);
	free(block);
	block = keep(malloc(40));
	yield(self);
	free(block);
	STAY();
}

static void work_and_throw(struct fiber *self)
{
	bool caught = false;

	work(self);
	try {
		thrower();
	} catch (const std::runtime_error &) {
		caught = true;
	}
	REQUIRE(caught);
}

static NOINLINE void elsewhere()
{
	keep(malloc(100));
	STAY();
}

static void wander(struct fiber *self)
{
	elsewhere();
	yield(self);
	elsewhere();
}

int main()
{
	struct fiber fibers[4], wanderer;

	for (int round = 0; round < ROUNDS / 4; round++) {
		for (struct fiber &fiber : fibers)
			begin(&fiber, work_and_throw);
		for (int step = 0; step < 3; step++)
			for (struct fiber &fiber : fibers)
				resume(&fiber);
		for (struct fiber &fiber : fibers) {
			REQUIRE(fiber.ended);
			free(fiber.stack);
		}
	}
	begin(&wanderer, wander);
	resume(&wanderer);
	std::thread([&wanderer] { resume(&wanderer); }).join();
	REQUIRE(wanderer.ended);
	free(wanderer.stack);
	puts("ok");
	return 7;
}
