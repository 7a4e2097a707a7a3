/*
 * Captures by the stack cache, each held against a walk that remembers nothing, and against what
 * the writer of events believes. What one thread, or one test, captures with.
 */
#ifndef TESTS_UNWIND_CACHE_CHECK_H
#define TESTS_UNWIND_CACHE_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "agent/unwind/stack_cache.h"
#include "agent/unwind/unwind.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Settings of the cache. Stacks may be deeper: with the small one those are captured by the plain
 * walk and given to stack_cache_set(), with the large one they are cut.
 */
#define CACHE_CHECK_SMALL 700
#define CACHE_CHECK_LARGE 1024
#define CACHE_CHECK_DEPTH 6000 /* of the stacks themselves */

struct cache_check {
	struct stack_cache cache;
	struct unwind_stack bounds;
	unsigned epoch;   /* of both */
	size_t depth_max; /* of the cache */
	uint64_t random;
	/* The stack as a reader of the events has it, outermost first. */
	uint64_t stream[CACHE_CHECK_DEPTH + 2];
	uint32_t stream_depth;
	uint64_t plain[CACHE_CHECK_DEPTH + 2]; /* the last stack, innermost first */
	size_t count;
	unsigned long captures, differences;
	unsigned long kept;   /* stacks of which the cache had a part */
	unsigned long leaves; /* of these, found as a segment */
	unsigned long texts;  /* of these, written by its text */
	unsigned long set;    /* by stack_cache_set() */
	unsigned long broken;
	unsigned long cut;
	unsigned long elsewhere; /* of these, by the cache at another frame */
	const char *what;
};

/* Before everything else. */
void cache_check_init(void);

/* As the hooks of mmap() with MAP_FIXED, and of mprotect(), do it. */
void cache_check_map(void *start, size_t size, int protection);
void cache_check_protect(void *start, size_t size, int protection);

/* Captures the stack of state by both and compares. */
void cache_check_state(struct cache_check *check, const struct unwind_state *state);

/* How many of the innermost frames of the last stack are these. */
size_t cache_check_same(const struct cache_check *check, const uint64_t *pcs, size_t count);

/* Something else than a capture was wrong. */
void cache_check_fail(struct cache_check *check, const char *how);

/* The caller's stack. */
void cache_check_here(struct cache_check *check);

/* As the writer does when a chunk of the recording is full: the next begins with no stack. */
void cache_check_forget_stream(struct cache_check *check);

/* At random; deterministic by check->random, which must not be 0. */
uint64_t cache_check_random(struct cache_check *check);

static inline uint64_t cache_check_below(struct cache_check *check, uint64_t n)
{
	return cache_check_random(check) % n;
}

#ifdef __cplusplus
}
#endif

#endif
