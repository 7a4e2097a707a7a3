/*
 * The innermost frames of recent stacks: the "leaf-segment cache". A program allocates from the
 * same few places over and over. So the few frames in which a stack differs from the last one were
 * mostly walked before, too.
 *
 *   the last stack     main  f  g  h            (stack_cache.h)
 *   a segment          joins f:     k  malloc's caller
 *   the new stack      main  f      k  malloc's caller: no step and no look-up
 *
 * A segment starts at the state of a hook's caller (pc, sp, fp) and holds the frames and words from
 * there outwards to a frame of the last stack, which it joins. stack_cache_capture() made it from a
 * walk. It may be used on two conditions. The thread's last stack has the joined frame in the same
 * state. And all words are still in memory: those of the segment, and those of the last stack from
 * the joined frame outwards. So the result is exact, for the reason that stack_cache.h gives.
 *
 * A hash of pc and sp gives two places for a segment. If a segment with that pc and sp differs from
 * memory in a word, the value in memory gives a third place: the same function at the same place of
 * the stack is often called by two others in turn.
 *
 * The cache begins with 32 segments, as many as most threads ever use, and grows while look-ups
 * fail. If few succeed even at its full size, it is not asked for a while.
 *
 * This is a part of the stack cache, inlined there. The text of a segment belongs to whoever reads
 * the captured stacks: the writer of events, or with MODE=live live/live_stack.c.
 */
#ifndef MALLOW_AGENT_UNWIND_LEAF_CACHE_H
#define MALLOW_AGENT_UNWIND_LEAF_CACHE_H

#include "agent/unwind/stack_cache.h"
#include "agent/unwind/stack_word.h"

#define LEAF_SEGMENTS_FIRST 32  /* in use at first … */
#define LEAF_SEGMENTS_MAX   256 /* … and at most, after doubling: 140 KiB */
#define LEAF_FRAMES         7   /* longer segments are rare: 4 % of clang++'s */
#define LEAF_WORDS          16  /* code without tables needs two words a frame */
#define LEAF_TEXT           18  /* enough for LEAF_FRAMES ids of two bytes each */

#define LEAF_TRIES 1024  /* after so many tries the cache is judged … */
#define LEAF_FEW   170   /* with fewer hits than this … */
#define LEAF_PAUSE 16384 /* it is not asked for so many captures */

struct leaf_segment {
	uint64_t pc, sp, fp; /* where the segment begins; pc 0: empty */
	uint16_t joined;     /* index of the frame that it joins */
	uint8_t count;       /* of frames; their cached_frame.words are as they were in the stack */
	uint8_t words;
	bool needs_fp;     /* fp above counts */
	uint8_t text_size; /* bytes of text, 0: not known */
	/*
	 * What the reader of stacks keeps with the segment. The writer of events: the frames,
	 * encoded as a stack change pushes them; made when the segment is used for the first time.
	 * MODE=live: its site (live_stack.c).
	 */
	uint8_t text[LEAF_TEXT];
	struct cached_frame joins;               /* the frame that it joins, as it was */
	struct cached_frame frames[LEAF_FRAMES]; /* outermost first */
	struct stack_word word[LEAF_WORDS];      /* after the padding that words_hold() needs */
};

/* Zero: empty. A thread's own. */
struct leaf_cache {
	uint32_t tries, hits;
	uint32_t pause;
	uint32_t more; /* segments in use beyond LEAF_SEGMENTS_FIRST */
	struct leaf_segment segments[LEAF_SEGMENTS_MAX];
};

static inline uint32_t leaf_cache_size(const struct leaf_cache *leaves)
{
	return LEAF_SEGMENTS_FIRST + leaves->more;
}

static inline struct leaf_segment *leaf_cache_place(struct leaf_cache *leaves,
						    const struct unwind_state *state)
{
	uint64_t hash = (state->pc ^ state->sp << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return &leaves->segments[(hash >> 32) * leaf_cache_size(leaves) >> 32];
}

/*
 * Grows or pauses the cache, after LEAF_TRIES tries. The place of a segment depends on the size of
 * the cache. So after growing, a segment that is not at its new place is not found any more, and is
 * overwritten in time.
 */
static inline void leaf_cache_judge(struct leaf_cache *leaves)
{
	uint32_t size = leaf_cache_size(leaves);

	if (leaves->hits < LEAF_TRIES / 10 * 9 && size < LEAF_SEGMENTS_MAX)
		leaves->more += size < LEAF_SEGMENTS_MAX - size ? size : LEAF_SEGMENTS_MAX - size;
	else if (leaves->hits < LEAF_FEW)
		leaves->pause = LEAF_PAUSE;
	leaves->tries = leaves->hits = 0;
}

/* Empties the cache. Pages that were never touched stay so. */
static inline void leaf_cache_clear(struct leaf_cache *leaves)
{
	for (uint32_t i = 0; i < leaf_cache_size(leaves); i++)
		if (leaves->segments[i].pc)
			leaves->segments[i].pc = 0;
}

/* Prepares a cleared cache for another thread: forgets what was learned of this one's stacks. */
static inline void leaf_cache_recycle(struct leaf_cache *leaves)
{
	leaves->tries = leaves->hits = leaves->pause = leaves->more = 0;
}

/* Whether the cache is to be asked at all. Counts the try. */
static inline bool leaf_cache_try(struct leaf_cache *leaves)
{
	if (unlikely(leaves->pause)) {
		leaves->pause--;
		return false;
	}
	if (unlikely(++leaves->tries == LEAF_TRIES))
		leaf_cache_judge(leaves);
	return true;
}

/* The segment's first word. words_hold() may compare words before it, which are padding. */
static inline const struct stack_word *leaf_segment_words(const struct leaf_segment *segment)
{
	return segment->word + (-segment->words & (WORD_GROUP - 1));
}

/* The place of a segment with that pc and sp, and with memory's value at that address. */
static inline struct leaf_segment *leaf_cache_variant(struct leaf_cache *leaves,
						      const struct unwind_state *state,
						      const struct stack_word *differs)
{
	const struct unwind_state variant = {
		.pc = state->pc ^ bytes_u64((const void *)(uintptr_t)differs->address) << 8,
		.sp = state->sp,
	};

	return leaf_cache_place(leaves, &variant);
}

static inline bool leaf_cache_begins(const struct leaf_segment *segment,
				     const struct unwind_state *state)
{
	return segment->pc == state->pc && segment->sp == state->sp &&
	       (!segment->needs_fp || segment->fp == state->fp);
}

/*
 * Whether the thread's last stack has the frame that the segment joins, and the words from there
 * outwards are still in memory.
 */
static inline bool leaf_cache_joins(struct stack_cache *cache, const struct leaf_segment *segment)
{
	const struct cached_frame *joined = &cache->frames[segment->joined];
	size_t differs;

	// The frame may lie in another segment, `top`.
	if (unlikely(segment->joined > cache->settled))
		stack_cache_settle(cache);
	return segment->joined <= cache->depth && joined->sp == segment->joins.sp &&
	       joined->pc == segment->joins.pc && joined->words == segment->joins.words &&
	       (!(joined->words & 1) || joined->fp == segment->joins.fp) &&
	       cache->end == UNWIND_COMPLETE &&
	       words_hold(cache->words, joined->words >> 1, &differs);
}

/*
 * The place of the segment that begins with state, if there is one. If not, one of the two places,
 * in turn, to be filled.
 */
static inline struct leaf_segment *leaf_cache_choose(struct leaf_cache *leaves,
						     const struct unwind_state *state)
{
	const struct unwind_state other = {.pc = ~state->pc, .sp = state->sp};
	struct leaf_segment *one = leaf_cache_place(leaves, state), *two;

	if (likely(leaf_cache_begins(one, state)))
		return one;
	two = leaf_cache_place(leaves, &other);
	return leaf_cache_begins(two, state) || leaves->tries & 1 ? two : one;
}

/*
 * Whether a segment equals what a walk from state would find, up to the frame that it joins.
 * *segment: that segment, or the place for what the walk will find.
 */
static inline __attribute__((always_inline)) bool leaf_cache_find(struct stack_cache *cache,
								  const struct unwind_state *state,
								  struct leaf_segment **segment)
{
	const struct stack_word *words;
	size_t differs;

	*segment = leaf_cache_choose(cache->leaves, state);
	if (!leaf_cache_begins(*segment, state))
		return false;
	words = leaf_segment_words(*segment);
	if (!words_hold(words, (*segment)->words, &differs)) {
		*segment = leaf_cache_variant(cache->leaves, state, &words[differs]);
		if (!leaf_cache_begins(*segment, state) ||
		    !words_hold(leaf_segment_words(*segment), (*segment)->words, &differs))
			return false;
	}
	return leaf_cache_joins(cache, *segment);
}

/*
 * Makes the segment the top of the stack. It is not copied there: mostly the next capture finds
 * another one, and the writer of events uses the segment's text.
 */
static inline void leaf_cache_use(struct stack_cache *cache, struct leaf_segment *segment)
{
	uint32_t at = segment->joined;

	if (segment == cache->top)
		return;
	if (cache->shared > at)
		cache->shared = at;
	if (cache->seen > at)
		cache->seen = at;
	cache->top = segment;
	cache->settled = at;
	cache->depth = at + segment->count;
}

/* Frame number `at` of the stack, from 1 for the outermost, wherever it is until it is settled. */
static inline struct cached_frame *leaf_cache_frame(const struct stack_cache *cache, uint32_t at)
{
	struct leaf_segment *top = cache->top;

	return at <= cache->settled ? &cache->frames[at] : &top->frames[at - top->joined - 1];
}

/* The segment whose text is all that the writer of events has to push, or NULL. */
static inline struct leaf_segment *leaf_cache_text(const struct stack_cache *cache)
{
	struct leaf_segment *top = cache->top;

	return top && top->text_size && cache->shared == top->joined ? top : NULL;
}

/* Keeps the stack's innermost count frames as a segment. */
static inline void leaf_cache_keep(struct stack_cache *cache, struct leaf_segment *segment,
				   const struct unwind_state *state, uint32_t count)
{
	uint32_t at = cache->depth - count;
	uint32_t base = cache->frames[at].words >> 1;
	uint32_t words = (cache->frames[cache->depth].words >> 1) - base;
	struct stack_word *word;

	if (count > LEAF_FRAMES || words > LEAF_WORDS || at > UINT16_MAX)
		return;
	segment->pc = state->pc;
	segment->sp = state->sp;
	segment->fp = state->fp;
	segment->joined = (uint16_t)at;
	segment->count = (uint8_t)count;
	segment->words = (uint8_t)words;
	segment->text_size = 0;
	segment->needs_fp = cache->frames[cache->depth].words & 1;
	segment->joins = cache->frames[at];
	for (uint32_t i = 0; i < count; i++)
		segment->frames[i] = cache->frames[at + 1 + i];
	words_pad(segment->word);
	word = (struct stack_word *)leaf_segment_words(segment);
	for (uint32_t i = 0; i < words; i++)
		word[i] = cache->words[base + i];
	cache->top = segment;
}

#endif
