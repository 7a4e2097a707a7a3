/* The validated stack cache: see stack_cache.h for the idea. Budget: 12 ns, 0.7 ns a kept frame. */
#include "agent/unwind/stack_cache.h"

#include <string.h>

#include "agent/unwind/memory.h"
#include "agent/unwind/x86_64_step.h"

/* So many frames at first: 56 KiB of address space, touched as far as stacks are deep. */
#define FIRST_CAPACITY 512u

/* A frame that the walk going on has met, and by which rule it was left. */
struct fresh_frame {
	uint64_t pc, sp, fp;
	uint32_t id;
	uint16_t rule;
	uint16_t bounded;
};

/* The outcome of the walk before it is put into the cache. */
struct outcome {
	struct walk walk;  /* where it ended: the frame it joins, or what the last step left */
	enum step result;  /* of the last step */
	uint32_t joined;   /* remembered frame that is the next outer one, 0: none */
	uint32_t count;    /* fresh frames */
	uint32_t unjoinable; /* so many of the innermost ones depend on a signal's registers */
	bool odd;          /* the limit changed on the way: nothing fresh may be joined */
};

static size_t memory_size(uint32_t capacity)
{
	return (size_t)(capacity + 1) *
	       (sizeof(struct cached_frame) + sizeof(struct fresh_frame) +
		STEP_WORDS_MAX * sizeof(struct stack_word));
}

/* The frames and their words move to larger arrays. */
static never_inline bool grow_slow(struct stack_cache *cache, size_t need)
{
	uint32_t capacity = cache->capacity ? cache->capacity : FIRST_CAPACITY / 2;
	struct cached_frame *frames;
	struct stack_word *words;

	do
		capacity *= 2;
	while (capacity < need);
	frames = unwind_allocate(memory_size(capacity));
	if (!frames)
		return false;
	words = (struct stack_word *)(frames + capacity + 1);
	frames[0] = (struct cached_frame){.sp = UINT64_MAX};
	if (cache->depth) {
		memcpy(frames, cache->frames, (cache->depth + 1) * sizeof(*frames));
		memcpy(words, cache->words, frames[cache->depth].words * sizeof(*words));
	}
	cache->frames = frames;
	cache->words = words;
	cache->fresh = (struct fresh_frame *)(words + (size_t)STEP_WORDS_MAX * (capacity + 1));
	cache->capacity = capacity;
	return true;
}

/* Whether the checks against the walk's limit would have gone as they did then. */
static inline bool limit_allows(const struct stack_cache *cache, uint32_t frame, uint64_t limit)
{
	if (cache->broken)
		return limit == (frame <= cache->bounded ? cache->limit : UINT64_MAX);
	if (likely(limit == UINT64_MAX))
		return true;
	return limit >= cache->highest && (!cache->bounded || limit == cache->limit);
}

/*
 * The walk is at a remembered frame, if its words still hold. Else *below is lowered to where it
 * may join again.
 */
static inline __attribute__((always_inline)) bool joins(const struct stack_cache *cache,
							const struct walk *walk, uint32_t *below)
{
	const struct cached_frame *frame = &cache->frames[*below];
	const struct stack_word *words = cache->words;
	uint32_t word = frame->words;

	if (frame->pc != walk->pc || (frame->needs_fp && frame->fp != walk->fp) ||
	    !limit_allows(cache, *below, walk->limit))
		return false;
#pragma GCC unroll 4
	while (word > 0) {
		word--;
		if (unlikely(bytes_u64((const void *)words[word].address) != words[word].value))
			goto differs;
	}
	return true;
differs:
	// The step that read it leads elsewhere now: what is further out may be met again.
	while (cache->frames[*below].words > word)
		--*below;
	return false;
}

/*
 * Walks from state outwards until a frame is joined or the stack ends. false: there is no room
 * for so many frames.
 */
static inline __attribute__((always_inline)) bool
walk_to_join(struct stack_cache *cache, struct crossing *crossing,
	     const struct unwind_state *state, struct outcome *ret)
{
	struct walk walk = {state->pc, state->sp, state->fp, UINT64_MAX};
	const struct cached_frame *frames = cache->frames;
	struct fresh_frame *fresh = cache->fresh;
	uint32_t below = cache->depth;

	*ret = (struct outcome){.result = STEP_CALLER};
	for (;;) {
		const struct rule_table *table =
			atomic_load_explicit(&rule_table_current, memory_order_acquire);
		unsigned rule;
		size_t place;

		while (frames[below].sp < walk.sp)
			below--;
		if (frames[below].sp == walk.sp && joins(cache, &walk, &below)) {
			ret->joined = below;
			break;
		}
		if (unlikely(ret->count == cache->capacity))
			return false;
		place = rule_table_place(table, walk.pc, &rule);
		*fresh = (struct fresh_frame){
			.pc = walk.pc, .sp = walk.sp, .fp = walk.fp, .rule = (uint16_t)rule,
			.bounded = walk.limit != UINT64_MAX,
			.id = rule != RULE_NONE ? rule_table_id_at(table, place) : 0,
		};
		fresh++;
		ret->count++;
		if (likely(rule >= RULE_PLAIN)) {
			ret->result = step_plain(&walk, rule);
		} else {
			struct walk copy = walk;

			ret->result = step_slow(&copy, crossing, rule);
			ret->odd |= walk.limit != UINT64_MAX && copy.limit != walk.limit;
			if (ret->result == STEP_SIGNAL)
				ret->unjoinable = ret->count + 1;
			walk = copy;
		}
		if (unlikely(ret->result >= STEP_END))
			break;
	}
	ret->walk = walk;
	return true;
}

/* The words of a step by a wide rule, by doing it again. */
static never_inline uint32_t put_wide_words_slow(struct stack_cache *cache,
						 struct crossing *crossing,
						 const struct fresh_frame *frame, uint32_t words)
{
	struct walk walk = {frame->pc, frame->sp, frame->fp,
			    frame->bounded ? cache->limit : UINT64_MAX};
	struct words_read read = {0};

	crossing->words = &read;
	step_slow(&walk, crossing, frame->rule);
	crossing->words = NULL;
	// The first one read is compared first: it goes on top.
	while (read.count > 0) {
		const struct stack_word *word = &read.word[--read.count];

		cache->words[words++] = *word;
		if (word->address >= cache->highest)
			cache->highest = word->address + 8;
	}
	return words;
}

/* The frame that the next one to be put was left to. */
struct outer {
	uint64_t pc, sp, fp;
	uint32_t words;
	bool needs_fp;
	bool none; /* the walk ended without a step: nothing was read */
};

/* Puts one fresh frame on top of the remembered ones. */
static inline __attribute__((always_inline)) void
put_frame(struct stack_cache *cache, struct crossing *crossing, uint32_t at,
	  struct fresh_frame *frame, bool joinable, struct outer *outer)
{
	struct cached_frame *ret = &cache->frames[at];
	uint32_t words = outer->words;
	bool needs_fp;

	if (likely(frame->rule >= RULE_PLAIN)) {
		unsigned slot = frame->rule >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;

		if (unlikely(outer->needs_fp && slot != 0))
			cache->words[words++] =
				(struct stack_word){outer->sp - slot * 8, outer->fp};
		if (likely(!outer->none))
			cache->words[words++] = (struct stack_word){outer->sp - 8, outer->pc};
		needs_fp = !(frame->rule & RULE_BASE_SP) || (slot == 0 && outer->needs_fp);
	} else {
		if (frame->rule == RULE_NONE) // was not known when the walk came by
			frame->rule = (uint16_t)rule_table_find(
				atomic_load_explicit(&rule_table_current, memory_order_acquire),
				frame->pc);
		needs_fp = step_needs_fp(frame->rule, outer->needs_fp);
		if (joinable)
			words = put_wide_words_slow(cache, crossing, frame, words);
	}
	// Also where the joins went no further: equal code on the way makes records shorter.
	if (cache->shared == at - 1 && at <= cache->depth && ret->pc == frame->pc)
		cache->shared = at;
	*ret = (struct cached_frame){
		.sp = joinable ? frame->sp : 0,
		.pc = frame->pc,
		.fp = frame->fp,
		.id = frame->id,
		.words = words,
		.needs_fp = needs_fp,
	};
	*outer = (struct outer){
		.pc = frame->pc,
		.sp = frame->sp,
		.fp = frame->fp,
		.words = words,
		.needs_fp = needs_fp,
	};
}

/* The outermost of the fresh frames have nothing remembered below them. */
static never_inline uint32_t begin_anew_slow(struct stack_cache *cache,
					     const struct outcome *outcome, uint64_t broken_pc)
{
	cache->broken = outcome->result == STEP_BROKEN;
	cache->highest = outcome->walk.sp;
	cache->bounded = 0;
	if (!cache->broken)
		return 0;
	if (cache->shared == 0 && cache->depth && cache->frames[1].pc == broken_pc)
		cache->shared = 1;
	cache->frames[1] = (struct cached_frame){.pc = broken_pc};
	return 1;
}

/* Puts what was walked on top of what was joined. */
static inline __attribute__((always_inline)) void put_outcome(struct stack_cache *cache,
							      struct crossing *crossing,
							      const struct outcome *outcome,
							      uint64_t broken_pc)
{
	uint32_t at = outcome->joined;
	struct outer outer = {
		.pc = outcome->walk.pc, .sp = outcome->walk.sp, .fp = outcome->walk.fp};

	if (cache->shared > at)
		cache->shared = at;
	if (likely(at)) {
		outer.words = cache->frames[at].words;
		outer.needs_fp = cache->frames[at].needs_fp;
		if (cache->bounded > at)
			cache->bounded = at;
	} else {
		at = begin_anew_slow(cache, outcome, broken_pc);
		outer.none = cache->broken;
	}
	if (unlikely(outcome->walk.limit != UINT64_MAX))
		cache->limit = outcome->walk.limit;
	for (uint32_t i = outcome->count; i-- > 0;) {
		struct fresh_frame *frame = &cache->fresh[i];

		put_frame(cache, crossing, ++at, frame,
			  likely(i >= outcome->unjoinable && !outcome->odd), &outer);
		if (unlikely(frame->bounded))
			cache->bounded = at;
	}
	cache->depth = at;
}

static never_inline enum unwind_end capture_in_more_memory_slow(struct stack_cache *cache,
								 const struct unwind_state *state,
								 struct unwind_stack *stack,
								 size_t depth_max,
								 uint64_t broken_pc, size_t need)
{
	return grow_slow(cache, need)
		       ? stack_cache_capture(cache, state, stack, depth_max, broken_pc)
		       : UNWIND_TRUNCATED;
}

enum unwind_end stack_cache_capture(struct stack_cache *cache, const struct unwind_state *state,
				    struct unwind_stack *stack, size_t depth_max,
				    uint64_t broken_pc)
{
	struct crossing crossing = {.stack = stack};
	struct outcome outcome;
	uint32_t depth;

	if (unlikely(!cache->capacity))
		return capture_in_more_memory_slow(cache, state, stack, depth_max, broken_pc, 1);
	if (unlikely(!walk_to_join(cache, &crossing, state, &outcome))) {
		if (outcome.count > depth_max)
			return UNWIND_TRUNCATED;
		return capture_in_more_memory_slow(cache, state, stack, depth_max, broken_pc,
						   outcome.count + 1);
	}
	depth = outcome.joined + outcome.count;
	if (unlikely(depth > depth_max || (outcome.result == STEP_BROKEN && crossing.missing)))
		return UNWIND_TRUNCATED;
	if (unlikely(depth >= cache->capacity))
		return capture_in_more_memory_slow(cache, state, stack, depth_max, broken_pc,
						   depth + 1);
	put_outcome(cache, &crossing, &outcome, broken_pc);
	return cache->broken ? UNWIND_BROKEN : UNWIND_COMPLETE;
}

bool stack_cache_set(struct stack_cache *cache, const uint64_t *pcs, size_t count)
{
	uint32_t shared = cache->shared;

	if (count > cache->capacity && !grow_slow(cache, count))
		return false;
	cache->shared = 0;
	for (uint32_t at = 1; at <= count; at++) {
		struct cached_frame *frame = &cache->frames[at];
		uint64_t pc = pcs[count - at];
		uint32_t id = 0;

		if (at <= cache->depth && frame->pc == pc) {
			id = frame->id;
			if (cache->shared == at - 1 && at <= shared)
				cache->shared = at;
		}
		*frame = (struct cached_frame){.pc = pc, .id = id};
	}
	cache->depth = (uint32_t)count;
	cache->bounded = 0;
	cache->broken = false;
	return true;
}

void stack_cache_clear(struct stack_cache *cache)
{
	cache->depth = 0;
	cache->shared = 0;
	cache->bounded = 0;
	cache->broken = false;
}
