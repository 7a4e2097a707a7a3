/*
 * The live blocks by address: a shadow of the memory that they lie in, in planes by size
 * (trace/live.h). What a block is stands at a place that its address and size tell:
 *
 *   plane ──► top ──► middle: 2048 pieces ──► 1 MiB of entries in the recording, sparse
 *
 * There is one block at an address at a time, and what comes after it there was told so by the
 * allocator. So each entry has one writer at a time, in an order that the program itself sees to:
 * loads and stores do, no lock and no exchange. A piece is made once, and stays.
 *
 * A page of a piece that was never written to is not read either: reading would make the kernel
 * give it memory.
 *
 * Any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_SHADOW_H
#define MALLOW_AGENT_LIVE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/live.h"

#define SHADOW_MIDDLE_BITS  11
#define SHADOW_ADDRESS_BITS 47
#define SHADOW_PAGE_BITS    12
#define SHADOW_PAGES        (LIVE_PIECE_SIZE >> SHADOW_PAGE_BITS)

struct shadow_piece {
	uint8_t *entries;                    /* atomic; NULL: not made yet */
	uint64_t touched[SHADOW_PAGES / 64]; /* atomic: pages that were written to */
	uint64_t unused[3];                  /* a line of the cache each */
};

struct shadow_middle {
	struct shadow_piece pieces[1u << SHADOW_MIDDLE_BITS];
};

/* Zero: empty. A plane's top is an array of atomic pointers. */
struct shadow {
	struct shadow_middle **tops[LIVE_PLANES]; /* atomic */
};

/*
 * Where a thread was lately: pages of the plane of small blocks, by the 16 KiB that each is the
 * shadow of. Zero: nowhere.
 */
#define SHADOW_NEAR_BITS  (SHADOW_PAGE_BITS + 2)
#define SHADOW_NEAR_PAGES 32u
struct shadow_near {
	struct {
		uint64_t key; /* of addresses, plus 1; 0: none */
		uint8_t *page;
	} pages[SHADOW_NEAR_PAGES];
};

struct shadow_block {
	uint32_t owner; /* site << LIVE_THREAD_BITS | thread, not 0 */
	uint32_t time;  /* of LIVE_SMALL_TIME_BITS for small blocks, else of 32: shadow_time() */
	uint64_t size;
	bool fine; /* taken from the plane of those that own no second entry for sure */
};

/* The time of a block of that size. */
static inline uint32_t shadow_time(uint64_t ticks, uint64_t size)
{
	return live_time_pack(ticks, size < LIVE_LARGE_MIN ? LIVE_SMALL_TIME_BITS : 32);
}

/*
 * A block comes to be. usable: how much of it is surely its own. *stale receives the block that was
 * still there, whose end nobody saw; its owner is 0 if there was none. false: there is no room.
 */
bool shadow_put(struct shadow *shadow, struct shadow_near *near, uint64_t address, uint64_t usable,
		const struct shadow_block *block, struct shadow_block *stale);

/* A block ends: takes it out. false: it is not there. near may be NULL. */
bool shadow_take(const struct shadow *shadow, struct shadow_near *near, uint64_t address,
		 struct shadow_block *ret);

/* The owner of the block that is there becomes another, if it is that one. */
bool shadow_change_owner(const struct shadow *shadow, uint64_t address, uint32_t from, uint32_t to);

/* The first word of a small block, by where the thread was lately, or NULL. */
static inline uint32_t *shadow_near(const struct shadow_near *near, uint64_t address)
{
	uint64_t key = (address >> SHADOW_NEAR_BITS) + 1;
	uint64_t at = key % SHADOW_NEAR_PAGES;

	if (unlikely(__atomic_load_n(&near->pages[at].key, __ATOMIC_RELAXED) != key))
		return NULL;
	return (uint32_t *)near->pages[at].page +
	       (address >> 4 & ((1u << (SHADOW_PAGE_BITS - 2)) - 1));
}

/* Whether the second word lies behind it: not on the page's edge. */
static inline bool shadow_has_second(const uint32_t *first)
{
	return ((uint64_t)(first + 1) & ((1u << SHADOW_PAGE_BITS) - 1)) != 0;
}

/* Field by field: a copy of the whole would wait for its parts to be stored. */
static inline void shadow_get_small(struct shadow_block *ret, uint32_t first, uint32_t second)
{
	ret->owner = first;
	ret->time = second >> LIVE_SMALL_SIZE_BITS;
	ret->size = second & (LIVE_LARGE_MIN - 1);
	ret->fine = false;
}

static inline uint32_t shadow_second_word(const struct shadow_block *block)
{
	return block->time << LIVE_SMALL_SIZE_BITS | (uint32_t)block->size;
}

/* shadow_put() in the ordinary case. false: it is not that, and nothing was done. */
static inline bool shadow_put_near(const struct shadow_near *near, uint64_t address,
				   uint64_t usable, const struct shadow_block *block)
{
	uint32_t *first = shadow_near(near, address);

	if (unlikely(!first || block->size >= LIVE_LARGE_MIN || usable <= 16 || address & 15 ||
		     !shadow_has_second(first) || __atomic_load_n(first, __ATOMIC_RELAXED)))
		return false;
	__atomic_store_n(first + 1, shadow_second_word(block), __ATOMIC_RELAXED);
	__atomic_store_n(first, block->owner, __ATOMIC_RELEASE);
	return true;
}

/* shadow_take(), the same. */
static inline bool shadow_take_near(const struct shadow_near *near, uint64_t address,
				    struct shadow_block *ret)
{
	uint32_t *first = shadow_near(near, address), owner;

	if (unlikely(!first || address & 15 || !shadow_has_second(first)))
		return false;
	owner = __atomic_load_n(first, __ATOMIC_RELAXED);
	if (unlikely(!owner))
		return false;
	shadow_get_small(ret, owner, __atomic_load_n(first + 1, __ATOMIC_RELAXED));
	__atomic_store_n(first, 0, __ATOMIC_RELAXED);
	__atomic_store_n(first + 1, 0, __ATOMIC_RELAXED);
	return true;
}

/* Gives the memory of tops and middles back; the pieces are the caller's. */
void shadow_release(struct shadow *shadow);

#endif
