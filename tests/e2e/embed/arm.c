/*
 * The device without an operating system: an LM3S6965 (Cortex-M3, 256 KB flash, 64 KB RAM), as qemu
 * makes it. Runs known.c, then writes the table by semihosting to a file "table".
 */
#include "device.h"

#include <unwind.h>

extern char stack_top[]; // of arm.ld

/* What libgcc's unwinder and compilers ask for; no libc is linked. */
void abort(void);
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	volatile char *at = to; // so that compilers make no call of memcpy() of it

	for (size_t i = 0; i < size; i++)
		at[i] = ((const char *)from)[i];
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	volatile char *at = to;

	for (size_t i = 0; i < size; i++)
		at[i] = (char)byte;
	return to;
}

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5, SYS_EXIT = 0x18 };
#define WRITE_BINARY 5
#define EXIT_GOOD    0x20026u
#define EXIT_BAD     0x20023u

static uintptr_t host(uintptr_t call, uintptr_t argument)
{
	register uintptr_t r0 __asm__("r0") = call;
	register uintptr_t r1 __asm__("r1") = argument;

	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}

void abort(void)
{
	host(SYS_EXIT, EXIT_BAD);
	for (;;)
		continue;
}

struct walk {
	uintptr_t *pcs;
	size_t count, max;
};

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;

	if (walk->count == walk->max)
		return _URC_END_OF_STACK;
	walk->pcs[walk->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* By the unwind tables of -funwind-tables. */
static size_t backtrace(uintptr_t *pcs, size_t max)
{
	struct walk walk = {pcs, 0, max};

	_Unwind_Backtrace(take, &walk);
	return walk.count;
}

/* The processor's interrupt mask is the lock. */
static uintptr_t mask_interrupts(void)
{
	uintptr_t mask;

	__asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(mask) : : "memory");
	return mask;
}

static void unmask_interrupts(uintptr_t mask)
{
	__asm__ volatile("msr primask, %0" : : "r"(mask) : "memory");
}

static void write_table(size_t size)
{
	static const char name[] = "table";
	const uintptr_t open[] = {(uintptr_t)name, WRITE_BINARY, sizeof(name) - 1};
	uintptr_t file = host(SYS_OPEN, (uintptr_t)open);
	const uintptr_t write[] = {file, (uintptr_t)device_memory.table, size};

	if (host(SYS_WRITE, (uintptr_t)write) || host(SYS_CLOSE, (uintptr_t)&file))
		abort();
}

static void reset(void)
{
	const struct mallow_embed_options options = {
		.allocate = heap_allocate,
		.release = heap_release,
		.reallocate = heap_reallocate,
		.allocate_aligned = heap_allocate_aligned,
		.backtrace = backtrace,
		.clock = device_clock,
		.lock = mask_interrupts,
		.unlock = unmask_interrupts,
		.executable = "firmware.elf",
	};
	size_t size;

	size = mallow_embed_start(device_memory.table, sizeof(device_memory.table), &options);
	if (!size || known_run())
		abort();
	write_table(size);
	host(SYS_EXIT, EXIT_GOOD);
}

static void fault(void)
{
	abort();
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
	(uintptr_t)stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
	(uintptr_t)fault,     (uintptr_t)fault, (uintptr_t)fault,
};
