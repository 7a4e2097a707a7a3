/*
 * Parts of sites: the sums of one stack, sharded. Threads that add to the same sums wait for each
 * other's cache line most of their time. So each of them goes on in a part of the site, which is a
 * site of its own with the same node, found by another hash. Readers add the parts up. The site
 * that has parts is called their whole. It still counts the ends of blocks that were there before,
 * and threads that meet the stack for the first time.
 *
 *   whole ──► part ──► part ──► whole      struct sites.next_part
 *
 * The whole keeps the peak. A part that has grown since it last looked adds up what all parts have
 * live. It looks when it has grown by SITE_PART_CALLS blocks, by SITE_PART_BYTES, or, if that is
 * more, by the peak / 2^SITE_PART_LOG. So the peak is too low by at most that much for each part.
 * But the parts are read one after the other: if meanwhile a block ends in one part and another
 * begins in another part, both of them may be counted, or neither. (To read all freed sums after
 * all allocated ones would be worse: too low by everything that ends during the look, which is a
 * multiple of what is live if threads churn.) In a part the fields of the peak hold the least that
 * it had live since it last looked.
 *
 * Lock-free, any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_SITE_PARTS_H
#define MALLOW_AGENT_LIVE_SITE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live/live_sampled.h"
#include "base/compiler.h"
#include "trace/live.h"

struct sites;

#define SITE_PARTS_OF_ONE 64u        /* beyond that, threads share a part */
#define SITE_PARTS        (1u << 18) /* of all sites; beyond that, threads join another's part */
#define SITE_PART_CALLS   64u
#define SITE_PART_BYTES   65536u
#define SITE_PART_LOG     10

#define SITE_TURNS_LOG  6
#define SITE_TURNS_MANY 64u /* times in a tick of the kernel's clock: 0.3 % of it is waiting */

/* A thread's own: the last site with that index where it took turns with others. Zero: none. */
struct site_turns {
	uint32_t number;
	uint32_t count; /* how often it counted there after another thread … */
	uint32_t tick;  /* … since the clock showed this */
};

/* Marks which thread was the last to count in a site. Threads that share a part have one tag. */
static inline uint32_t site_parts_tag(uint32_t thread)
{
	return thread % SITE_PARTS_OF_ONE << LIVE_NODE_BITS;
}

/*
 * A thread has counted after another one in the site of that number. Returns whether it must take a
 * part: the site has some, or this was the SITE_TURNS_MANYth time in a tick of the clock.
 */
static inline bool site_parts_wanted(struct site_turns turns[1u << SITE_TURNS_LOG],
				     const struct live_site *site, uint32_t number, uint64_t tick)
{
	struct site_turns *last = &turns[number & ((1u << SITE_TURNS_LOG) - 1)];

	if (__atomic_load_n(&site->node, __ATOMIC_RELAXED) & LIVE_SITE_HAS_PARTS)
		return true;
	if (last->number != number || last->tick != (uint32_t)tick)
		*last = (struct site_turns){.number = number, .tick = (uint32_t)tick};
	return ++last->count == SITE_TURNS_MANY;
}

/*
 * Returns the part in which that thread counts a stack; makes it if it is new. site: the stack's
 * site, or a part of it. hash: the stack's. If there is no room for a new part, returns another
 * thread's part, and if there is none, the site itself.
 */
uint32_t site_parts_take(struct sites *sites, struct live_header *header, uint32_t site,
			 uint64_t hash, uint32_t thread);

/* sites_allocate() for a site where another thread counted last, for a part, and for a whole. */
bool site_parts_allocate(struct sites *sites, uint32_t site, uint32_t tag, struct weight weight,
			 uint64_t ticks);

/* Goes through the parts of a site: the part after `part`, the first one after 0. 0: no more. */
uint32_t site_parts_next(const struct sites *sites, uint32_t whole, uint32_t part);

#endif
