/*
 * Which events are recorded, where not all are: SAMPLE, or recording was switched off. The blocks
 * that were recorded are known by their addresses (address_set.h). So their ends are recorded, too,
 * and those of other blocks are not.
 *
 * SAMPLE=mean: a block of size bytes is recorded with the probability 1 - exp(-size / mean), as if
 * points lay on the stream of bytes that a thread allocates, mean bytes apart on average and at
 * random (a Poisson process), and a block counted if a point falls into it. A block of 0 bytes
 * counts as one of 1. A reader divides by that probability and has an estimate without a bias.
 * SEED=number: a thread's points are made from it and the number of the thread's stream.
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

/* A thread's own. Zero: nothing drawn yet. It is left + held bytes to the next point. */
struct admission {
	uint64_t random; /* state of the generator, 0: not seeded */
	uint64_t left;   /* for admission_passes_over() */
	uint64_t held;   /* for admission_samples() alone */
};

/*
 * The blocks that were recorded. others: the other way round, the sets hold those that were not.
 * Zero: none was recorded. Wiped at fork; not NULL where `process` is not.
 */
struct admitted {
	struct address_set blocks;
	struct address_set pool_blocks; /* of the program's own pools … */
	struct address_set pools;       /* … that hold some */
	bool others;
};

extern struct admitted *admitted hidden;

/* The first stop, which nothing announced: what was recorded until now is not known one by one. */
void admission_begin(void);

/*
 * SAMPLE: whether a point falls into this thread's next allocation. Interrupted by a handler that
 * allocates it forgets either's bytes: where the next point is depends on neither.
 */
bool admission_samples(struct thread *thread, uint64_t size);

/*
 * It does not, or that has to be asked: one comparison, whatever else the thread is doing. Bytes
 * are left for it once they were drawn, where hooks may pass over events at all (LIVE_WAY_SAMPLES).
 */
static inline bool admission_passes_over(struct admission *admission, uint64_t size)
{
	uint64_t left = __atomic_load_n(&admission->left, __ATOMIC_RELAXED);

	if (size - 1 >= left) // of 0 bytes, too: that is to be asked
		return false;
	// Of what was looked at: a handler that drew in between must not make it less than nothing.
	__atomic_store_n(&admission->left, left - size, __ATOMIC_RELAXED);
	// In the child of one that forked in between these are the parent's bytes, all else is
	// wiped.
	return likely(__atomic_load_n(&admission->random, __ATOMIC_RELAXED));
}

/*
 * Before a real function that may come to other hooks, whose blocks are counted with its own: these
 * have to ask, until somebody that is not within another hook has asked admission_samples().
 */
static inline void admission_hold(struct admission *admission)
{
	uint64_t left = __atomic_load_n(&admission->left, __ATOMIC_RELAXED);

	admission->held += left;
	__atomic_store_n(&admission->left, 0, __ATOMIC_RELAXED);
}

/* Whether the settings ask for that. Of all threads the same. */
bool admission_wanted(void);

/* Whether what is recorded is known by its address. */
bool admission_knows(void);

/*
 * Whether the event is to be recorded. Notes that its block is, or is gone. A realloc of whose two
 * blocks only one is recorded becomes that one's allocation or free. Async-signal-safe.
 */
bool admission_keeps(struct thread *thread, struct event *event);

/* The old block of a realloc ends before it starts. Returns whether it was recorded. */
bool admission_ends(const void *block);

/* The realloc has failed: the block is as it was, recorded or not. */
void admission_restores(const void *block, bool recorded);

/* A realloc whose old block is no event becomes an allocation. */
void admission_make_allocation(struct event *event);

/*
 * A block that nobody was asked about: off, by a thread that does not record. Its free needs not be
 * told: the address is noted anew with the next block there.
 */
void admission_passes(const void *block);

/* Whether the block was recorded. */
bool admission_has(const void *block);

/*
 * Pools of the program's own, of which SAMPLE leaves nothing out. Their blocks are known by address
 * alone: of two at one address, or within the same 8 bytes, the end of one may be taken for that of
 * the other, while recording is stopped.
 */

/* A pool has handed out a block, which is recorded, or is not. */
void admission_pool_allocates(const void *pool, const void *block, bool recorded);

/* The block ends. Returns whether it was recorded. */
bool admission_pool_frees(const void *block);

/* All blocks of the pool end. Returns whether one of them may have been recorded. */
bool admission_pool_resets(const void *pool);

#endif
