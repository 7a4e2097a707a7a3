/*
 * Chooses the events that are recorded, where not all are: with SAMPLE, or while recording is
 * switched off. The blocks that were recorded are known by their addresses (address_set.h). So
 * their ends are recorded, too, and those of other blocks are not.
 *
 * SAMPLE=mean. Imagine a thread's allocated bytes as a line, with points on it at random, mean
 * bytes apart on average (a Poisson process). A block is recorded if a point falls into it:
 *
 *   bytes   |--24--|-------4096-------|-16-|--24--|
 *   points                   x                         only the block of 4096 bytes is recorded
 *
 * So a block of size bytes is recorded with the probability 1 - exp(-size / mean). A reader divides
 * by that probability and has an estimate without a bias. A block of 0 bytes counts as one of 1. A
 * thread's points are made from SEED=number and the number of the thread's stream.
 *
 * Only a thread with thread->selective asks here; for the others this costs nothing.
 */
#ifndef MALLOW_AGENT_EVENT_ADMISSION_H
#define MALLOW_AGENT_EVENT_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/ground/address_set.h"
#include "base/compiler.h"

struct event;
struct thread;

/* A thread's own. The next point is left + held bytes away. Zero: nothing was drawn yet. */
struct admission {
	uint64_t random; /* state of the generator, 0: not seeded */
	uint64_t left;   /* bytes that admission_passes_over() may use up */
	uint64_t held;   /* bytes that only admission_samples() counts */
};

/*
 * The blocks that were recorded. others: the other way round, the sets hold those that were not.
 * Zero: none was recorded. Wiped at fork; not NULL where `process` is not.
 */
struct admitted {
	struct address_set blocks;
	struct address_set pool_blocks; /* blocks of the program's own pools … */
	struct address_set pools;       /* … and the pools that hold some of them */
	bool others;
};

extern struct admitted *admitted hidden;

/*
 * Call at the first stop, if no setting announced one: which blocks were recorded until now is not
 * known one by one.
 */
void admission_begin(void);

/*
 * SAMPLE: whether a point falls into this thread's next allocation. If a handler that allocates
 * interrupts this, the bytes of one of the two are forgotten. That adds no bias: the distance to
 * the next point depends on neither.
 */
bool admission_samples(struct thread *thread, uint64_t size);

/*
 * The fast half of admission_samples(): true if surely no point falls into the allocation. false:
 * ask that function. One comparison, whatever else the thread is doing. There are bytes in `left`
 * only where hooks may pass over events at all (LIVE_WAY_SAMPLES).
 */
static inline bool admission_passes_over(struct admission *admission, uint64_t size)
{
	uint64_t left = __atomic_load_n(&admission->left, __ATOMIC_RELAXED);

	if (size - 1 >= left) // also if size is 0
		return false;
	// From the value that was read: if a handler drew in between, the result still must not be
	// negative.
	__atomic_store_n(&admission->left, left - size, __ATOMIC_RELAXED);
	// 0: a handler forked in between, this is the child, and `left` was the parent's.
	return likely(__atomic_load_n(&admission->random, __ATOMIC_RELAXED));
}

/*
 * Call before a real function that may call other hooks, whose blocks are parts of its own block.
 * From then on admission_passes_over() is false, until a hook that is not nested has asked
 * admission_samples().
 */
static inline void admission_hold(struct admission *admission)
{
	uint64_t left = __atomic_load_n(&admission->left, __ATOMIC_RELAXED);

	admission->held += left;
	__atomic_store_n(&admission->left, 0, __ATOMIC_RELAXED);
}

/*
 * Whether threads are selective from their start: recorded blocks are known by address, or the sink
 * takes all events. The same for all threads.
 */
bool admission_wanted(void);

/* Whether recorded blocks are known by their addresses. */
bool admission_knows(void);

/*
 * Decides whether the event is recorded, and notes its block as recorded, or as gone. If only one
 * of a realloc's two blocks is recorded, changes the event to that block's allocation or free.
 * Async-signal-safe.
 */
bool admission_keeps(struct thread *thread, struct event *event);

/* The old block of a realloc ends before it starts. Returns whether it was recorded. */
bool admission_ends(const void *block);

/* The realloc has failed: the block is as it was, recorded or not. */
void admission_restores(const void *block, bool recorded);

/* A realloc whose old block is no event becomes an allocation. */
void admission_make_allocation(struct event *event);

/*
 * Notes a block that is not recorded because recording is off and its thread does not record. Does
 * something only if the sets hold such blocks (`others`). Nobody need tell when the block is freed:
 * the next block at the address is noted anew.
 */
void admission_passes(const void *block);

/* Whether the block was recorded. */
bool admission_has(const void *block);

/*
 * Pools of the program's own. SAMPLE does not apply to them. Their blocks are known only by
 * address. If two lie at one address, or within the same 8 bytes, the end of one may be taken for
 * the end of the other while recording is stopped.
 */

/* A pool has handed out a block. recorded: whether that is recorded. */
void admission_pool_allocates(const void *pool, const void *block, bool recorded);

/* The block ends. Returns whether it was recorded. */
bool admission_pool_frees(const void *block);

/* All blocks of the pool end. Returns whether one of them may have been recorded. */
bool admission_pool_resets(const void *pool);

#endif
