#include "agent/live/live_stack.h"

#include "agent/event.h"
#include "agent/live/live_state.h"
#include "agent/thread.h"
#include "agent/unwind/leaf_cache.h"

static uint32_t frame_of(const struct cached_frame *frame)
{
	if (likely(frame->id))
		return frame->id;
	return LIVE_FRAME_SPECIAL |
	       (uint32_t)(frame->pc <= TRACE_PC_LAST_SPECIAL ? frame->pc : TRACE_PC_LOST);
}

/* In the text of a segment that was met before. */
struct known_leaf {
	uint32_t joined; /* node of the frame that it joins */
	uint32_t site;
};

/* The site of thread->stack if its leaf was met before on top of the same frames, or 0. */
static inline uint32_t known_site(const struct thread *thread)
{
	const struct stack_cache *stack = &thread->stack;
	const struct leaf_segment *top = stack->top;
	struct known_leaf leaf;

	if (!top || !top->text_size || stack->shared < top->joined)
		return 0;
	__builtin_memcpy(&leaf, top->text, sizeof(leaf));
	return leaf.joined == thread->live->nodes[top->joined] ? leaf.site : 0;
}

static void keep_leaf(struct thread *thread, uint32_t site)
{
	struct leaf_segment *top = thread->stack.top;
	struct known_leaf leaf = {.site = site};

	if (!top)
		return;
	leaf.joined = thread->live->nodes[top->joined];
	__builtin_memcpy(top->text, &leaf, sizeof(leaf));
	top->text_size = sizeof(leaf);
}

/* sites_node(), by what the thread looked up lately: fewer lines of the cache than those of all. */
static inline uint32_t node_of(struct live_own *own, struct live *live, uint32_t parent,
			       uint32_t frame)
{
	struct live_step *known =
		&own->steps[(parent * 0x9e3779b1u ^ frame) * 0x85ebca6bu >> (32 - LIVE_STEPS_LOG)];

	if (known->node && known->parent == parent && known->frame == frame)
		return known->node;
	*known = (struct live_step){parent, frame,
				    sites_node(&live->sites, live->header, parent, frame)};
	return known->node;
}

/* The site of thread->stack, looked up from the frame on that differs from the stack before. */
static uint32_t find_site(struct thread *thread, struct live *live)
{
	struct stack_cache *stack = &thread->stack;
	uint32_t *nodes = thread->live->nodes;
	uint32_t site;

	stack_cache_settle(stack);
	if (!event_define_frames(thread))
		return 0;
	for (uint32_t i = stack->shared + 1; i <= stack->depth; i++) {
		nodes[i] = node_of(thread->live, live, i > 1 ? nodes[i - 1] : 0,
				   frame_of(&stack->frames[i]));
		if (!nodes[i])
			return 0;
		stack->shared = i;
	}
	site = stack->depth ? sites_of_node(&live->sites, live->header, nodes[stack->depth]) : 0;
	if (site)
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
