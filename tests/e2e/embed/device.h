/* A made-up device: its memory, its allocator, and a run whose result is known. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "mallow_embed.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* Behind a last call: no tail call, so that the caller stays on the stack. */
#define STAY() __asm__ volatile("" ::: "memory")

/* Small devices give less. */
#ifndef ARENA
#define ARENA (1u << 20)
#endif
#ifndef TABLE
#define TABLE (1u << 18)
#endif

/* What is dumped. */
struct device_memory {
	uint64_t arena[ARENA / 8];
	uint64_t table[TABLE / 8];
};
extern struct device_memory device_memory;

/* The allocator. All memory begins free again with heap_reset(). */
void heap_reset(void);
void *heap_allocate(size_t size);
void heap_release(void *block);
void *heap_reallocate(void *block, size_t size);
void *heap_allocate_aligned(size_t alignment, size_t size);

/* What the clock shows, and the number of the running thread. */
extern uint64_t device_ns;
extern unsigned int device_thread;
uint64_t device_clock(void);
unsigned int device_thread_now(const char **name);
uintptr_t device_lock(void);
void device_unlock(uintptr_t state);
extern unsigned int device_locks; /* how often the lock was taken and given back */

/*
 * Allocates and frees. In the end each function has of its own, in live blocks:
 *
 *	keep_fixed	5 of 100 bytes		keep_zeroed	1 of 120
 *	churn		none, of 20 of 32 bytes	keep_grown	1 of 500 (its first realloc's, not)
 *	keep_aligned	1 of 200, at 64		keep_nothing	1 of 0
 *	keep_failed	1 of 24			keep_deep	1 of 7, 30 frames deep
 *
 * Returns 0, or the number of the first expectation of its own that failed.
 */
int known_run(void);

#endif
