#include "agent/live/live_stack.h"

#include <assert.h>

#include "agent/event/thread.h"
#include "agent/live/live_state.h"
#include "agent/record/event_write.h"
#include "agent/unwind/leaf_cache.h"

static uint32_t frame_of(const struct cached_frame *frame)
{
	if (likely(frame->id))
		return frame->id;
	return LIVE_FRAME_SPECIAL |
	       (uint32_t)(frame->pc <= TRACE_PC_LAST_SPECIAL ? frame->pc : TRACE_PC_LOST);
}

/* What the text of a leaf segment holds here. */
struct known_leaf {
	uint64_t joined; /* hash of the stack up to the frame that it joins */
	uint32_t site;
} __attribute__((packed));
static_assert(sizeof(struct known_leaf) <= LEAF_TEXT, "a segment has so much room");

/* The site of thread->stack, if its leaf was met before on top of the same outer frames; else 0. */
static inline uint32_t known_site(const struct thread *thread)
{
	const struct stack_cache *stack = &thread->stack;
	const struct leaf_segment *top = stack->top;
	struct known_leaf leaf;

	if (!top || !top->text_size || stack->shared < top->joined)
		return 0;
	__builtin_memcpy(&leaf, top->text, sizeof(leaf));
	return leaf.joined == thread->live->hashes[top->joined] ? leaf.site : 0;
}

static void keep_leaf(struct thread *thread, uint32_t site)
{
	struct leaf_segment *top = thread->stack.top;
	struct known_leaf leaf = {.site = site};

	if (!top)
		return;
	leaf.joined = thread->live->hashes[top->joined];
	__builtin_memcpy(top->text, &leaf, sizeof(leaf));
	top->text_size = sizeof(leaf);
}

/* Adds the site of a stack that is new by its hash. */
static never_inline uint32_t add_site_slow(struct thread *thread, struct live *live)
{
	const struct stack_cache *stack = &thread->stack;
	struct live_own *own = thread->live;
	bool made = false;

	for (uint32_t i = own->node_depth + 1; i <= stack->depth; i++)
		sites_expect_node(&live->sites, live->header, own->hashes[i]);
	for (uint32_t i = own->node_depth + 1; i <= stack->depth; i++) {
		own->nodes[i] = sites_node(&live->sites, live->header, own->hashes[i],
					   own->nodes[i - 1], frame_of(&stack->frames[i]), &made);
		if (!own->nodes[i])
			return 0;
		own->node_depth = i;
	}
	return sites_add(&live->sites, live->header, own->hashes[stack->depth],
			 own->nodes[stack->depth]);
}

/* Asks the thread's recent look-ups first: with many stacks the index is rarely in the cache. */
static inline uint32_t site_of_hash(struct thread *thread, struct live *live, uint64_t hash)
{
	uint64_t *recent = &thread->live->recent[hash & ((1u << LIVE_RECENT_LOG) - 1)];
	uint32_t site;

	if (stack_index_is(*recent, hash))
		return stack_index_site(*recent);
	site = sites_find(&live->sites, hash);
	if (unlikely(!site))
		site = add_site_slow(thread, live);
	if (likely(site))
		*recent = stack_index_entry(hash, site);
	return site;
}

/* Looks the site of thread->stack up. Hashes only the frames that differ from the stack before. */
static uint32_t find_site(struct thread *thread, struct live *live)
{
	struct stack_cache *stack = &thread->stack;
	struct live_own *own = thread->live;
	uint32_t site;

	stack_cache_settle(stack);
	if (!event_define_frames(thread) || !stack->depth)
		return 0;
	if (own->node_depth > stack->shared)
		own->node_depth = stack->shared;
	for (uint32_t i = stack->shared + 1; i <= stack->depth; i++)
		own->hashes[i] = sites_hash(own->hashes[i - 1], frame_of(&stack->frames[i]));
	stack->shared = stack->depth;
	site = site_of_hash(thread, live, own->hashes[stack->depth]);
	if (likely(site))
		keep_leaf(thread, site);
	return site;
}

uint32_t live_stack_site(struct thread *thread, struct live *live)
{
	const struct stack_cache *stack = &thread->stack;
	struct live_own *own = thread->live;
	uint32_t site;

	if (own->depth && stack->shared == stack->depth && own->depth == stack->depth)
		return own->site;
	site = known_site(thread);
	if (likely(site))
		return site;
	own->depth = 0;
	site = find_site(thread, live);
	if (!site)
		return SITES_STACKLESS;
	own->site = site;
	own->depth = stack->depth;
	return site;
}

static void take_part(struct thread *thread, struct live *live, uint32_t site)
{
	const struct stack_cache *stack = &thread->stack;
	struct live_own *own = thread->live;
	uint64_t hash;
	uint32_t part;

	// The stack may have been found by its leaf, and then there is no hash of it.
	if (!find_site(thread, live))
		return;
	hash = own->hashes[stack->depth];
	part = site_parts_take(&live->sites, live->header, site, hash, own->sums.number);
	own->recent[hash & ((1u << LIVE_RECENT_LOG) - 1)] = stack_index_entry(hash, part);
	keep_leaf(thread, part);
	own->site = part;
	own->depth = stack->depth;
}

never_inline void live_stack_took_turn(struct thread *thread, struct live *live, uint32_t site)
{
	struct live_own *own = thread->live;

	if (site != SITES_STACKLESS &&
	    site_parts_wanted(own->turns, sites_at(&live->sites, site), site, own->ticks))
		take_part(thread, live, site);
}
