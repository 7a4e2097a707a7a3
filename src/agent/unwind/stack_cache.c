/* The validated stack cache: see stack_cache.h for the idea. Budget: 12 ns, 0.7 ns a kept frame. */
#include "agent/unwind/stack_cache.h"

#include <string.h>

#include "agent/unwind/leaf_cache.h"
#include "agent/unwind/memory.h"
#include "agent/unwind/step.h"

/* Frames at first: 56 KiB of address space, touched as far as stacks are deep. */
#define FIRST_CAPACITY 512u

/* Below this depth_max a stack that is too deep is not cut here but walked anew: 5 us at most. */
#define CUT_LEAST 1024u

/* A frame that the current walk has met, and the rule by which it was left. */
struct fresh_frame {
	uint64_t pc, sp, fp;
	uint32_t id;
	uint16_t rule;
};

/* The outcome of the walk before it is put into the cache. */
struct outcome {
	struct walk walk;    /* where it ended: the joined frame, or after the last step */
	enum step result;    /* of the last step */
	uint32_t joined;     /* index of the remembered frame that it joins */
	uint32_t count;      /* fresh frames */
	uint32_t unjoinable; /* how many of the innermost frames may never be joined */
};

static inline uint32_t word_count(const struct cached_frame *frame)
{
	return frame->words >> 1;
}

/* A whole segment (leaf_cache.h) fits above the frames and the words. */
static size_t frame_room(uint32_t capacity)
{
	return (size_t)capacity + 1 + LEAF_FRAMES;
}

static size_t word_room(uint32_t capacity)
{
	return WORD_GROUP + (size_t)capacity * STEP_WORDS_MAX + LEAF_WORDS;
}

static size_t memory_size(uint32_t capacity)
{
	return frame_room(capacity) * sizeof(struct cached_frame) +
	       word_room(capacity) * sizeof(struct stack_word) +
	       capacity * sizeof(struct fresh_frame);
}

/* Moves the frames and words to larger arrays. */
static never_inline bool grow_slow(struct stack_cache *cache, size_t need)
{
	uint32_t capacity = cache->capacity ? cache->capacity : FIRST_CAPACITY / 2;
	struct cached_frame *frames;
	struct stack_word *words;

	if (!cache->leaves)
		cache->leaves = unwind_allocate(sizeof(*cache->leaves));
	if (!cache->leaves)
		return false;
	do
		capacity *= 2;
	while (capacity < need);
	frames = unwind_allocate(memory_size(capacity));
	if (!frames)
		return false;
	words = (struct stack_word *)(frames + frame_room(capacity));
	cache->fresh = (struct fresh_frame *)(words + word_room(capacity));
	words_pad(words);
	words += WORD_GROUP;
	frames[0] = (struct cached_frame){.sp = UINT64_MAX};
	if (cache->depth) {
		memcpy(frames, cache->frames, (cache->depth + 1) * sizeof(*frames));
		memcpy(words, cache->words, word_count(&frames[cache->depth]) * sizeof(*words));
	}
	cache->frames = frames;
	cache->words = words;
	cache->capacity = capacity;
	return true;
}

/*
 * Whether the walk is at the remembered frame *below and its words still hold. If they do not,
 * lowers *below to the next frame that it may join.
 */
static inline __attribute__((always_inline)) bool joins(const struct stack_cache *cache,
							const struct walk *walk, uint32_t *below)
{
	const struct cached_frame *frame = &cache->frames[*below];
	size_t differs;

	if (frame->pc != walk->pc || (frame->words & 1 && frame->fp != walk->fp))
		return false;
	if (likely(words_hold(cache->words, word_count(frame), &differs)))
		return true;
	// The step that read this word leads elsewhere now. Frames further out may be met again.
	while (word_count(&cache->frames[*below]) > differs)
		--*below;
	return false;
}

static never_inline enum step walk_step_slow(struct walk *walk, struct crossing *crossing,
					     unsigned rule, struct outcome *outcome, uint32_t count)
{
	enum step result = step_slow(walk, crossing, rule);

	// The registers of an interrupted frame are known for one frame more, which is thus no
	// function of its state. A step to another stack reads more words than are kept. And a word
	// that cannot be read now may be readable the next time.
	if (crossing->unreadable)
		outcome->unjoinable = UINT32_MAX;
	else if ((result == STEP_SIGNAL || result == STEP_OTHER_STACK) &&
		 outcome->unjoinable < count + 1)
		outcome->unjoinable = count + 1;
	return result;
}

/*
 * Walks from state outwards until it joins frames[below], or one further out, or the stack ends.
 * false: there are more than `room` frames, and the walk is at the next one.
 */
static inline __attribute__((always_inline)) bool
walk_to_join(const struct stack_cache *cache, struct crossing *crossing,
	     const struct unwind_state *state, uint32_t below, uint32_t room, struct outcome *ret)
{
	const struct rule_table *table =
		atomic_load_explicit(&rule_table_current, memory_order_acquire);
	const struct cached_frame *frames = cache->frames;
	struct walk walk = walk_from(state, crossing->stack);
	struct fresh_frame *fresh = cache->fresh, *end = fresh + room;
	enum step result = STEP_CALLER;
	bool fits = true;

	ret->unjoinable = 0;
	for (;;) {
		unsigned rule;
		uint64_t cfa;
		size_t place;

		while (frames[below].sp < walk.sp)
			below--;
		if (frames[below].sp == walk.sp && joins(cache, &walk, &below))
			break;
		place = rule_table_place(table, walk.pc, &rule);
		fresh->pc = walk.pc;
		fresh->sp = walk.sp;
		fresh->fp = walk.fp;
		fresh->rule = (uint16_t)rule;
		fresh->id = rule_table_id_at(table, place);
		fresh++;
		if (likely(step_is_plain(&walk, rule, &cfa))) {
			result = step_plain(&walk, rule, cfa);
		} else {
			struct walk copy = walk;

			result = walk_step_slow(&copy, crossing, rule, ret,
						(uint32_t)(fresh - cache->fresh));
			walk = copy;
			table = atomic_load_explicit(&rule_table_current, memory_order_acquire);
		}
		if (unlikely(result >= STEP_END)) {
			below = 0;
			break;
		}
		if (unlikely(fresh == end)) {
			fits = false;
			below = 0;
			break;
		}
	}
	ret->joined = below;
	ret->count = (uint32_t)(fresh - cache->fresh);
	ret->result = result;
	ret->walk = walk;
	return fits;
}

/* Puts the words that a step by a wide rule read, by doing the step again. */
static never_inline uint32_t put_wide_words_slow(struct stack_cache *cache,
						 struct crossing *crossing,
						 const struct fresh_frame *frame, uint32_t words)
{
	struct walk walk = {frame->pc, frame->sp, frame->fp, 0};
	struct words_read read = {0};

	crossing->words = &read;
	step_slow(&walk, crossing, frame->rule);
	crossing->words = NULL;
	// The word that was read first is compared first, so it goes on top.
	while (read.count > 0)
		cache->words[words++] = read.word[--read.count];
	return words;
}

/* The frame outside of the next one to be put: the caller. */
struct outer {
	uint64_t pc, sp, fp;
	uint32_t words;
	uint32_t shared; /* stack_cache.shared before this capture, which it must not exceed */
	bool needs_fp;
	bool none; /* the walk ended without a step: nothing was read */
};

/* put_words() for a frame whose rule is wide, or was not known. */
static never_inline void put_wide_slow(struct stack_cache *cache, struct crossing *crossing,
				       const struct outcome *outcome, struct fresh_frame *frame,
				       struct outer *outer)
{
	if (frame->rule == RULE_NONE) // not known when the walk came by
		frame->rule = (uint16_t)rule_table_find(
			atomic_load_explicit(&rule_table_current, memory_order_acquire), frame->pc);
	outer->needs_fp = step_needs_fp(frame->rule, outer->needs_fp);
	if ((size_t)(frame - cache->fresh) >= outcome->unjoinable)
		outer->words = put_wide_words_slow(cache, crossing, frame, outer->words);
}

/* Puts the words that the step from a fresh frame to its caller read on top of the others. */
static inline __attribute__((always_inline)) void
put_words(struct stack_cache *cache, struct crossing *crossing, const struct outcome *outcome,
	  struct fresh_frame *frame, struct outer *outer)
{
	struct stack_word *word = &cache->words[outer->words];
	unsigned rule = frame->rule;
	uint64_t ra;

	if (unlikely(rule < RULE_PLAIN))
		return put_wide_slow(cache, crossing, outcome, frame, outer);
	if (unlikely(outer->none)) {
		outer->needs_fp = !(rule & RULE_BASE_SP);
		return;
	}
	if (outer->needs_fp && step_slot(rule) != 0) {
		*word++ = (struct stack_word){step_fp_place(rule, frame->sp, frame->fp, outer->sp),
					      outer->fp};
		outer->words++;
		outer->needs_fp = false;
	}
	ra = step_ra_place(rule, frame->sp, frame->fp, outer->sp);
	*word = (struct stack_word){ra, arch_return_word(ra, outer->pc)};
	outer->words++;
	outer->needs_fp |= !(rule & RULE_BASE_SP);
}

/* Puts one fresh frame on top of the remembered ones. */
static inline __attribute__((always_inline)) void put_frame(struct stack_cache *cache, uint32_t at,
							    const struct fresh_frame *frame,
							    struct outer *outer)
{
	struct cached_frame *ret = &cache->frames[at];

	// An equal pc counts as shared even if no walk joined there: it makes records shorter.
	if (unlikely(cache->shared == at - 1 && at <= outer->shared && ret->pc == frame->pc))
		cache->shared = at;
	ret->sp = frame->sp;
	ret->pc = frame->pc;
	ret->fp = frame->fp;
	ret->id = frame->id;
	ret->words = outer->words << 1 | outer->needs_fp;
	outer->pc = frame->pc;
	outer->sp = frame->sp;
	outer->fp = frame->fp;
	outer->none = false;
}

/*
 * The walk joined no remembered frame. Returns 1 if a mark stands in frames[1] in place of the
 * missing outer frames, 0 if the stack is complete.
 */
static never_inline uint32_t begin_anew_slow(struct stack_cache *cache,
					     const struct outcome *outcome, uint32_t shared)
{
	uint64_t mark;

	cache->end = outcome->result == STEP_END      ? UNWIND_COMPLETE
		     : outcome->result == STEP_BROKEN ? UNWIND_BROKEN
						      : UNWIND_TRUNCATED;
	if (cache->end == UNWIND_COMPLETE)
		return 0;
	mark = cache->end == UNWIND_BROKEN ? cache->broken_pc : cache->truncated_pc;
	// The mark can be shared like any frame.
	if (shared > 0 && cache->frames[1].pc == mark)
		cache->shared = 1;
	cache->frames[1] = (struct cached_frame){.pc = mark};
	return 1;
}

/* Puts the fresh frames on top of the joined one. */
static inline __attribute__((always_inline)) void
put_outcome(struct stack_cache *cache, struct crossing *crossing, const struct outcome *outcome)
{
	uint32_t at = outcome->joined;
	struct outer outer = {
		.pc = outcome->walk.pc,
		.sp = outcome->walk.sp,
		.fp = outcome->walk.fp,
		.shared = cache->shared,
	};

	if (cache->shared > at)
		cache->shared = at;
	if (cache->seen > at)
		cache->seen = at;
	if (likely(at)) {
		outer.words = word_count(&cache->frames[at]);
		outer.needs_fp = cache->frames[at].words & 1;
	} else {
		at = begin_anew_slow(cache, outcome, outer.shared);
		outer.none = cache->end == UNWIND_BROKEN;
	}
	for (struct fresh_frame *frame = cache->fresh + outcome->count; frame != cache->fresh;) {
		frame--;
		put_words(cache, crossing, outcome, frame, &outer);
		put_frame(cache, ++at, frame, &outer);
	}
	cache->depth = cache->settled = at;
	cache->top = NULL;
	for (uint32_t i = outcome->unjoinable < outcome->count ? outcome->unjoinable
							       : outcome->count;
	     unlikely(i > 0); i--)
		cache->frames[at + 1 - i].sp = 0;
}

static never_inline enum unwind_end capture_in_more_memory_slow(struct stack_cache *cache,
								const struct unwind_state *state,
								struct unwind_stack *stack,
								size_t need)
{
	return grow_slow(cache, need) ? stack_cache_capture(cache, state, stack) : UNWIND_REFUSED;
}

/* How many of a stack's outermost frames are left out. */
static uint64_t cut_of(const struct stack_cache *cache, uint64_t frames)
{
	uint64_t step = cache->depth_max / 8;

	if (frames <= cache->depth_max)
		return 0;
	return (frames - cache->depth_max + step - 1) / step * step;
}

static uint64_t count_frames(const struct unwind_state *state, struct crossing *crossing)
{
	struct walk walk = walk_from(state, crossing->stack);
	uint64_t frames = 1;

	while (step(&walk, crossing) < STEP_END)
		frames++;
	return frames;
}

/*
 * Captures a stack that must be cut, or that is no longer deep enough to be cut where the
 * remembered one was. frames: of the whole stack; 0: not known.
 */
static never_inline enum unwind_end capture_cut_slow(struct stack_cache *cache,
						     const struct unwind_state *state,
						     struct unwind_stack *stack, uint64_t frames)
{
	struct crossing crossing = {.stack = stack};
	struct outcome outcome;
	uint64_t cut, kept;

	if (cache->depth_max < CUT_LEAST)
		return UNWIND_REFUSED;
	if (!frames)
		frames = count_frames(state, &crossing);
	cut = cut_of(cache, frames);
	kept = frames - cut;
	// One more for the mark.
	if (kept + 1 >= cache->capacity && !grow_slow(cache, kept + 2))
		return UNWIND_REFUSED;
	if (walk_to_join(cache, &crossing, state, 0, (uint32_t)kept, &outcome) == (cut > 0) ||
	    crossing.missing)
		return UNWIND_REFUSED;
	cache->cut = cut;
	if (crossing.unreadable) // perhaps only count_frames() wanted to read there
		outcome.unjoinable = UINT32_MAX;
	put_outcome(cache, &crossing, &outcome);
	return cache->end;
}

/* Whether the stack must be cut, or cut elsewhere than the remembered one. *frames: its depth. */
static inline bool must_be_cut(const struct stack_cache *cache, const struct outcome *outcome,
			       uint64_t *frames)
{
	uint64_t depth = outcome->joined + outcome->count;
	bool marked = outcome->joined && cache->end != UNWIND_COMPLETE;

	*frames = depth - marked;
	if (likely(!marked || cache->end == UNWIND_BROKEN))
		return unlikely(depth > cache->depth_max);
	*frames += cache->cut;
	return cut_of(cache, *frames) != cache->cut;
}

static never_inline bool joins_innermost(const struct stack_cache *cache,
					 const struct unwind_state *state)
{
	const struct walk walk = {state->pc, state->sp, state->fp, 0};
	uint32_t below = cache->depth;

	return joins(cache, &walk, &below);
}

/* Whether the stack is the last one again. Rare, but then there is nothing else to do. */
static inline bool is_same(const struct stack_cache *cache, const struct unwind_state *state)
{
	return unlikely(cache->settled == cache->depth) &&
	       cache->frames[cache->depth].sp == state->sp && joins_innermost(cache, state);
}

enum unwind_end stack_cache_capture(struct stack_cache *cache, const struct unwind_state *state,
				    struct unwind_stack *stack)
{
	struct leaf_segment *segment;
	struct crossing crossing;
	struct outcome outcome;
	uint64_t frames;
	uint32_t depth;

	if (unlikely(!cache->capacity))
		return capture_in_more_memory_slow(cache, state, stack, 1);
	if (is_same(cache, state))
		return cache->end;
	segment = leaf_cache_place(cache->leaves, state);
	if (leaf_cache_try(cache->leaves) && leaf_cache_find(cache, state, &segment)) {
		cache->leaves->hits++;
		leaf_cache_use(cache, segment);
		return UNWIND_COMPLETE;
	}
	stack_cache_settle(cache);
	crossing = (struct crossing){.stack = stack};
	if (unlikely(!walk_to_join(cache, &crossing, state, cache->depth, cache->capacity,
				   &outcome))) {
		if (cache->capacity > cache->depth_max)
			return capture_cut_slow(cache, state, stack, 0);
		return capture_in_more_memory_slow(cache, state, stack, cache->capacity + 1);
	}
	// The walk ended at a frame whose caller is found by another register. unwind_capture()
	// tracks that.
	if (unlikely(crossing.missing && (outcome.result == STEP_BROKEN ||
					  (outcome.joined && cache->end != UNWIND_COMPLETE))))
		return UNWIND_REFUSED;
	if (unlikely(must_be_cut(cache, &outcome, &frames)))
		return capture_cut_slow(cache, state, stack, frames);
	depth = outcome.joined + outcome.count;
	if (unlikely(depth >= cache->capacity))
		return capture_in_more_memory_slow(cache, state, stack, depth + 1);
	put_outcome(cache, &crossing, &outcome);
	if (likely(!cache->leaves->pause && outcome.count && outcome.joined && !outcome.unjoinable))
		leaf_cache_keep(cache, segment, state, outcome.count);
	return cache->end;
}

void stack_cache_settle_slow(struct stack_cache *cache)
{
	const struct leaf_segment *top = cache->top;
	struct cached_frame *frames = cache->frames + top->joined + 1;
	struct stack_word *words = cache->words + word_count(&cache->frames[top->joined]);
	const struct stack_word *word = leaf_segment_words(top);

	for (uint32_t i = 0; i < top->count; i++)
		frames[i] = top->frames[i];
	for (uint32_t i = 0; i < top->words; i++)
		words[i] = word[i];
	cache->settled = cache->depth;
}

bool stack_cache_cut(struct stack_cache *cache, uint32_t keep, size_t room,
		     struct stack_cache_push *push)
{
	stack_cache_settle(cache);
	if (keep + room > cache->capacity && !grow_slow(cache, keep + room))
		return false;
	*push = (struct stack_cache_push){.at = keep, .shared = cache->shared};
	if (cache->shared > keep)
		cache->shared = keep;
	return true;
}

bool stack_cache_set(struct stack_cache *cache, const uint64_t *pcs, size_t count)
{
	struct stack_cache_push push;

	if (!stack_cache_cut(cache, 0, count, &push))
		return false;
	while (count > 0)
		stack_cache_push(cache, &push, pcs[--count], 0);
	stack_cache_pushed(cache, &push);
	cache->merged = false;
	return true;
}

void stack_cache_clear(struct stack_cache *cache)
{
	if (cache->leaves)
		leaf_cache_clear(cache->leaves);
	cache->depth = cache->settled = 0;
	cache->top = NULL;
	cache->shared = cache->seen = 0;
	cache->merged = false;
	cache->end = UNWIND_COMPLETE;
}

void stack_cache_recycle(struct stack_cache *cache)
{
	stack_cache_clear(cache);
	if (cache->leaves)
		leaf_cache_recycle(cache->leaves);
}
