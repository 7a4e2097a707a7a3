/*
 * The distinct stacks of allocations that were held back (cull.h), each with the sums of what was
 * culled there. A hash table with chains, shared by all threads; nothing is removed:
 *
 *   heads[hash] ──► stack ──► stack ──► NULL          a new one goes in front
 *
 * Frames are kept by their ids in the recording: these stay true when their module is gone.
 *
 * Lock-free. If a thread is interrupted for good in the middle of something, a piece of memory
 * stays unused.
 */
#ifndef MALLOW_AGENT_CULL_CULL_STACKS_H
#define MALLOW_AGENT_CULL_CULL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CULL_STACKS_HEADS 65536u
#define CULL_STACKS_MAX   (256u << 20) /* bytes in all */

struct stack_cache;
struct thread;

struct cull_stack {
	struct cull_stack *next;
	uint64_t hash;
	uint64_t calls, bytes, temporary; /* atomic: culled, and not yet written */
	uint32_t id;                      /* atomic: in the recording; 0: not defined there */
	uint32_t depth;
	uint64_t frames[]; /* outermost first: id * 2 + 1, or pc * 2 of a frame without an id */
};

/* Zero: empty. */
struct cull_stacks {
	struct cull_stack *heads[CULL_STACKS_HEADS]; /* atomic */
	uint64_t used;                               /* atomic: bytes */
	uint32_t next_id;                            /* atomic */
};

/* A thread's memory for new stacks. Zero: none yet. */
struct cull_room {
	uint8_t *next;
	size_t left;
};

/*
 * Finds or adds the stack that the cache holds. It must be settled, and its frames must have ids.
 * NULL: no room.
 */
struct cull_stack *cull_stacks_find(struct cull_stacks *stacks, struct cull_room *room,
				    const struct stack_cache *cache);

/* Adds to the sums of what was culled. Any thread, at any time. */
static inline void cull_stack_count(struct cull_stack *stack, uint64_t calls, uint64_t bytes,
				    bool temporary)
{
	__atomic_fetch_add(&stack->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&stack->calls, calls, __ATOMIC_RELAXED);
	if (temporary)
		__atomic_fetch_add(&stack->temporary, 1, __ATOMIC_RELAXED);
}

/*
 * The id of a stack in the recording; defines it there, by `thread`, if need be. scratch:
 * CULL_SCRATCH bytes. 0: it could not be written, which is counted.
 */
#define CULL_SCRATCH 4096
uint32_t cull_stack_define(struct cull_stacks *stacks, struct cull_stack *stack,
			   struct thread *thread, uint8_t *scratch);

/*
 * Writes the sums of the stacks of one head, by `thread`, and sets them to 0. In a signal bracket,
 * so that nothing is lost in between.
 */
void cull_stacks_write(struct cull_stacks *stacks, uint32_t head, struct thread *thread,
		       uint8_t *scratch);

/* Drops these sums instead. Returns how many allocations that were. */
uint64_t cull_stacks_drop(struct cull_stacks *stacks, uint32_t head);

#endif
