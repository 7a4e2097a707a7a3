/*
 * The sums of each stack (trace/live.h). A stack that was met before is found by a hash of all its
 * frames (stack_index.h). The frames of a new stack become nodes of a tree, where each node is
 * found by its parent and its frame. Shared by all threads, never removed.
 *
 * A thread saves look-ups in two ways (live_stack.c). It keeps the hashes of its last stack beside
 * stack_cache.frames; those of the outermost stack_cache.shared frames are valid. And it keeps the
 * site of a leaf_cache.h segment in that segment's `text`.
 *
 * Lock-free, async-signal-safe.
 */
#ifndef MALLOW_AGENT_LIVE_SITES_H
#define MALLOW_AGENT_LIVE_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/atomic_add.h"
#include "agent/live/live_sampled.h"
#include "agent/live/site_parts.h"
#include "agent/live/stack_index.h"
#include "base/compiler.h"
#include "base/wide.h"
#include "trace/live.h"

#define SITES_NODE_BITS   16 /* of a chunk of nodes: 768 KiB … */
#define SITES_SITE_BITS   14 /* … and of sites: 1 MiB */
#define SITES_NODE_CHUNKS (LIVE_NODES >> SITES_NODE_BITS)
#define SITES_SITE_CHUNKS (LIVE_SITES >> SITES_SITE_BITS)
#define SITES_HEADS       (1u << 16)
#define SITES_MORE_HEADS  (1u << 20)

/* Special numbers of sites. */
#define SITES_STACKLESS 1 /* BACKTRACE=none, and what found no room */
/* From here on: for a block whose stack is not looked up yet (handler_queue.h), by its ticket. */
#define SITES_WAITING   1024u
#define SITES_UNKNOWN   (LIVE_SITES - SITES_WAITING)

/* Zero: empty. */
struct sites {
	/*
	 * Atomic: the first node of each chain. When there are as many nodes as `heads`, new ones
	 * go into `more_heads`, whose memory few programs need.
	 */
	uint32_t heads[SITES_HEADS];
	uint32_t more_heads[SITES_MORE_HEADS];
	struct live_node *nodes[SITES_NODE_CHUNKS]; /* atomic */
	struct live_site *sites[SITES_SITE_CHUNKS]; /* atomic */
	struct stack_index index;
	uint64_t start_ticks;           /* sites' times count from here */
	uint32_t parts;                 /* atomic: number of parts of all sites */
	uint32_t next_part[LIVE_SITES]; /* atomic, site_parts.h; 0: neither has parts nor is one */
};

/* Makes the first chunks, and the site SITES_STACKLESS. false: no memory. */
bool sites_begin(struct sites *sites, struct live_header *header);

/* Frees the memory that is no chunk of the recording. */
void sites_release(struct sites *sites);

/*
 * The hash of a stack, from the hash of its outer frames (SITES_NO_FRAMES if there are none) and
 * its innermost frame (struct live_node.frame). A folded product, as in wyhash.
 */
#define SITES_NO_FRAMES UINT64_C(0x2d358dccaa6c78a5)
static inline uint64_t sites_hash(uint64_t outer, uint32_t frame)
{
	struct wide product = wide_product(outer ^ frame, UINT64_C(0x9e3779b97f4a7c15));

	return product.high ^ product.low;
}

/* The site of the stack with that hash. 0: it is a new one. */
static inline uint32_t sites_find(struct sites *sites, uint64_t hash)
{
	return stack_index_find(&sites->index, hash);
}

/*
 * Finds or makes the node of a frame of a new stack. parent: the node of its caller, 0 for the
 * outermost frame. hash: of the stack from the outermost frame to this one. *made, in: the parent
 * was just made, so there is nothing to find; out: this node was just made. 0: no room.
 */
uint32_t sites_node(struct sites *sites, struct live_header *header, uint64_t hash, uint32_t parent,
		    uint32_t frame, bool *made);

/* Prefetches for sites_node() with that hash. */
void sites_expect_node(const struct sites *sites, const struct live_header *header, uint64_t hash);

/* Makes a site for the new stack that ends at that node. 0: no room. */
uint32_t sites_add(struct sites *sites, struct live_header *header, uint64_t hash, uint32_t node);

/* A baseline: clears the sums of all sites. */
void sites_forget(struct sites *sites, const struct live_header *header);

/* The node of that number, which was given out before. */
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

void sites_raise_slow(uint64_t *peak, uint64_t value);

static inline void sites_raise(uint64_t *peak, uint64_t value)
{
	if (value > __atomic_load_n(peak, __ATOMIC_RELAXED))
		sites_raise_slow(peak, value);
}

/* Something of the site is live since now. first: for the first time. */
void sites_date_slow(const struct sites *sites, struct live_site *site, bool first);

/*
 * Counts an allocation, without peaks. Returns what the site has live. ticks: since the start, the
 * same for all allocations of a thread within a tick of the kernel's clock.
 *
 * If nothing was live, this allocation gives the site its age, so it reads the clock: once a tick,
 * lest pairs of malloc and free become slower.
 */
static inline struct weight sites_count(const struct sites *sites, struct live_site *site,
					struct weight weight, uint64_t ticks)
{
	bool alone = atomic_add_alone();
	uint64_t calls = atomic_add_fetch_as(alone, &site->calls, weight.calls);
	uint64_t bytes = atomic_add_fetch_as(alone, &site->bytes, weight.bytes);
	uint64_t freed_calls = __atomic_load_n(&site->freed_calls, __ATOMIC_RELAXED);
	uint64_t freed_bytes = __atomic_load_n(&site->freed_bytes, __ATOMIC_RELAXED);
	uint32_t now = live_time_pack(ticks, 32);

	if (calls - weight.calls <= freed_calls) {
		if (likely(__atomic_load_n(&site->last, __ATOMIC_RELAXED) == now))
			__atomic_store_n(&site->since, now, __ATOMIC_RELAXED);
		else
			sites_date_slow(sites, site, calls == weight.calls);
	}
	__atomic_store_n(&site->last, now, __ATOMIC_RELAXED);
	// Other threads may have freed blocks that were allocated after the sums were read: no peak
	// then.
	return (struct weight){likely(calls > freed_calls) ? calls - freed_calls : 0,
			       likely(bytes > freed_bytes) ? bytes - freed_bytes : 0};
}

/* The same with peaks, for a site without parts. */
static inline void sites_count_whole(const struct sites *sites, struct live_site *site,
				     struct weight weight, uint64_t ticks)
{
	struct weight live = sites_count(sites, site, weight, ticks);

	sites_raise(&site->peak_calls, live.calls);
	sites_raise(&site->peak_bytes, live.bytes);
}

/*
 * Counts an allocation. tag: the thread's, site_parts_tag(). true: the thread takes turns with
 * others, so ask site_parts_wanted().
 */
static inline bool sites_allocate(struct sites *sites, uint32_t number, uint32_t tag,
				  struct weight weight, uint64_t ticks)
{
	struct live_site *site = sites_at(sites, number);

	if (unlikely((__atomic_load_n(&site->node, __ATOMIC_RELAXED) ^ tag) >> LIVE_NODE_BITS))
		return site_parts_allocate(sites, number, tag, weight, ticks);
	sites_count_whole(sites, site, weight, ticks);
	return false;
}

/* Counts the end of a block of the site. */
static inline void sites_free(struct live_site *site, struct weight weight)
{
	bool alone = atomic_add_alone();

	atomic_add_as(alone, &site->freed_bytes, weight.bytes);
	atomic_add_as(alone, &site->freed_calls, weight.calls);
}

#endif
