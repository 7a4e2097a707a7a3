/*
 * The sums of each stack (trace/live.h): a tree of frames, each node found by its parent and its
 * frame, and sites at those nodes where allocations end. Shared by all threads, never removed.
 *
 * A thread keeps the nodes of its last stack beside stack_cache.frames, as far as
 * stack_cache.shared says that they are true, and a segment of leaf_cache.h its site in its text:
 * so what was met lately is not looked up.
 *
 * Lock-free, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_SITES_H
#define MALLOW_AGENT_LIVE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/live/add.h"
#include "base/compiler.h"
#include "trace/live.h"

#define SITES_NODE_BITS   16 /* of a chunk of nodes … */
#define SITES_SITE_BITS   14 /* … and of sites: 1 MiB each */
#define SITES_NODE_CHUNKS (LIVE_NODES >> SITES_NODE_BITS)
#define SITES_SITE_CHUNKS (LIVE_SITES >> SITES_SITE_BITS)
#define SITES_HEADS       (1u << 16)
#define SITES_MORE_HEADS  (1u << 20)

/* Numbers of sites that are no stack's. */
#define SITES_STACKLESS 1 /* BACKTRACE=none, and what found no room */
/* From here on: of a block whose stack is not looked up yet (pending.h), one of so many. */
#define SITES_WAITING   1024u
#define SITES_UNKNOWN   (LIVE_SITES - SITES_WAITING)

/* Zero: empty. */
struct sites {
	/*
	 * Atomic: the first node of a chain. Those that are made when there is one for each of the
	 * first heads hang by the others, whose memory few programs need.
	 */
	uint32_t heads[SITES_HEADS];
	uint32_t more_heads[SITES_MORE_HEADS];
	struct live_node *nodes[SITES_NODE_CHUNKS]; /* atomic */
	struct live_site *sites[SITES_SITE_CHUNKS]; /* atomic */
};

/* Makes the first chunks, and the site SITES_STACKLESS. false: no memory. */
bool sites_begin(struct sites *sites, struct live_header *header);

/* The node of a frame (struct live_node.frame) within parent, 0: the outermost. 0: no room. */
uint32_t sites_node(struct sites *sites, struct live_header *header, uint32_t parent,
		    uint32_t frame);

/* The site whose stack ends there. 0: no room. */
uint32_t sites_of_node(struct sites *sites, struct live_header *header, uint32_t node);

/* One that is known to be there: of a number that was given. */
static inline struct live_node *sites_node_at(const struct sites *sites, uint32_t node)
{
	return &__atomic_load_n(&sites->nodes[node >> SITES_NODE_BITS],
				__ATOMIC_RELAXED)[node & ((1u << SITES_NODE_BITS) - 1)];
}

static inline struct live_site *sites_at(struct sites *sites, uint32_t site)
{
	return &__atomic_load_n(&sites->sites[site >> SITES_SITE_BITS],
				__ATOMIC_RELAXED)[site & ((1u << SITES_SITE_BITS) - 1)];
}

/* What a block adds to sums: 1 and its size, but where only samples are taken. */
struct weight {
	uint64_t calls, bytes;
};

void sites_raise_slow(uint64_t *peak, uint64_t value);

static inline void sites_raise(uint64_t *peak, uint64_t value)
{
	if (value > __atomic_load_n(peak, __ATOMIC_RELAXED))
		sites_raise_slow(peak, value);
}

/* ticks: since the start. */
static inline void sites_allocate(struct live_site *site, struct weight weight, uint64_t ticks)
{
	bool alone = add_alone();
	uint64_t calls = add_fetch_as(alone, &site->calls, weight.calls);
	uint64_t bytes = add_fetch_as(alone, &site->bytes, weight.bytes);
	uint64_t freed_calls = __atomic_load_n(&site->freed_calls, __ATOMIC_RELAXED);
	uint64_t freed_bytes = __atomic_load_n(&site->freed_bytes, __ATOMIC_RELAXED);
	uint32_t now = live_time_pack(ticks, 32);

	// What others freed since may be younger than what was added: then it is no peak.
	if (likely(calls > freed_calls))
		sites_raise(&site->peak_calls, calls - freed_calls);
	if (likely(bytes > freed_bytes))
		sites_raise(&site->peak_bytes, bytes - freed_bytes);
	if (unlikely(calls == weight.calls))
		__atomic_store_n(&site->first, now, __ATOMIC_RELAXED);
	if (calls - weight.calls <= freed_calls)
		__atomic_store_n(&site->since, now, __ATOMIC_RELAXED);
	__atomic_store_n(&site->last, now, __ATOMIC_RELAXED);
}

static inline void sites_free(struct live_site *site, struct weight weight)
{
	bool alone = add_alone();

	add_as(alone, &site->freed_bytes, weight.bytes);
	add_as(alone, &site->freed_calls, weight.calls);
}

#endif
