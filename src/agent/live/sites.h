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
#include "trace/live.h"

#define SITES_NODE_BITS   16 /* of a chunk of nodes … */
#define SITES_SITE_BITS   14 /* … and of sites: 1 MiB each */
#define SITES_NODE_CHUNKS (LIVE_NODES >> SITES_NODE_BITS)
#define SITES_SITE_CHUNKS (LIVE_SITES >> SITES_SITE_BITS)
#define SITES_HEADS       65536u

/* Numbers of sites that are no stack's. */
#define SITES_STACKLESS 1 /* BACKTRACE=none, and what found no room */
/* From here on: of a block whose stack is not looked up yet (pending.h), one of so many. */
#define SITES_WAITING   1024u
#define SITES_UNKNOWN   (LIVE_SITES - SITES_WAITING)

/* Zero: empty. */
struct sites {
	uint32_t heads[SITES_HEADS];                /* atomic: node */
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

static inline struct live_site *sites_at(struct sites *sites, uint32_t site)
{
	return &__atomic_load_n(&sites->sites[site >> SITES_SITE_BITS],
				__ATOMIC_RELAXED)[site & ((1u << SITES_SITE_BITS) - 1)];
}

/* What a block adds to sums: 1 and its size, but where only samples are taken. */
struct weight {
	uint64_t calls, bytes;
};

/* ticks: since the start. */
void sites_allocate(struct live_site *site, struct weight weight, uint64_t ticks);

static inline void sites_free(struct live_site *site, struct weight weight)
{
	bool alone = add_alone();

	add_as(alone, &site->freed_bytes, weight.bytes);
	add_as(alone, &site->freed_calls, weight.calls);
}

#endif
