/*
 * Parts of sites. Threads whose processors take turns at the sums of one stack wait for each other
 * most of their time. So each of them goes on in a part of that site: one of its own, of the same
 * node, by another hash. Readers add them. A site of which there are parts is their whole; what
 * others then count in it comes from blocks that were there before, and from threads that meet the
 * stack for the first time.
 *
 *   whole ──► part ──► part ──► whole      struct sites.next_part
 *
 * The peak is the whole's: what all of them have live together is looked at when one of them has
 * grown, since it last looked, by SITE_PART_CALLS blocks or by SITE_PART_BYTES, or, if that is
 * more, by the peak / 2^SITE_PART_LOG. So it is too low by that for each part, at most, but that
 * they are looked at one after the other: a block that another one follows in another part
 * meanwhile may be seen together with it, or neither. (To read what was freed behind all that was
 * allocated would make it too low by all that ends within the look, of threads that churn a
 * multiple of what is live.) What the parts have as peaks is the least that they had live since.
 *
 * Lock-free, any thread, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_SITE_PARTS_H
#define MALLOW_AGENT_LIVE_SITE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live/weight.h"
#include "base/compiler.h"
#include "trace/live.h"

struct sites;

#define SITE_PARTS_OF_ONE 64u        /* threads share a part beyond that */
#define SITE_PARTS        (1u << 18) /* of all sites; beyond that threads join another's part */
#define SITE_PART_CALLS   64u
#define SITE_PART_BYTES   65536u
#define SITE_PART_LOG     10

#define SITE_TURNS_LOG  6
#define SITE_TURNS_MANY 64u /* in a tick of the kernel's clock: 0.3 % of it is waiting */

/* A thread's own: of the last site of that place that it took turns at. Zero: none. */
struct site_turns {
	uint32_t number;
	uint32_t count; /* how often it came after another one … */
	uint32_t tick;  /* … since the clock showed this */
};

/* By it a site says which thread was the last to count in it, those of one part being one. */
static inline uint32_t site_parts_tag(uint32_t thread)
{
	return thread % SITE_PARTS_OF_ONE << LIVE_NODE_BITS;
}

/*
 * A thread came after another one at that site, of that number. Whether it is to take a part: there
 * are some, or it came so many times while the clock showed what it shows, which is said once.
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
 * The part of the thread with that number, of a site that is whole, or of the whole of that part;
 * hash is that of its stack. Another's if there is no room for it, then the site itself.
 */
uint32_t site_parts_take(struct sites *sites, struct live_header *header, uint32_t site,
			 uint64_t hash, uint32_t thread);

/* sites_allocate() where another thread was the last, of a part, and of a site that has some. */
bool site_parts_allocate(struct sites *sites, uint32_t site, uint32_t tag, struct weight weight,
			 uint64_t ticks);

/* Those that are added to a whole, or to a site without parts: after 0 the first, … 0: no more. */
uint32_t site_parts_next(const struct sites *sites, uint32_t whole, uint32_t part);

#endif
