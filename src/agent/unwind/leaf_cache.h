/*
 * The innermost frames of recent stacks: the "leaf-segment cache". Programs allocate from few
 * places over and over, so the few frames that differ from the last stack were walked before, too.
 *
 *   segment: from a hook's caller (pc, sp, fp) outwards to the remembered frame that it joined
 *
 * A segment holds what stack_cache_capture() put for it, frames and words; it is used where it
 * would join the same frame of the thread's stack in the same state, after its words and then all
 * those of the stack from there outwards were compared with memory. So it is exact for the reason
 * that stack_cache.h gives, and costs neither steps nor look-ups.
 *
 * It begins with 32 segments, as many as most threads ever use, and grows while tries fail. Where
 * fewer than half of them succeed at its full size (compilers), it is left alone for a while.
 *
 * Part of the stack cache; all is inline there.
 */
#ifndef MALLOW_AGENT_UNWIND_LEAF_CACHE_H
#define MALLOW_AGENT_UNWIND_LEAF_CACHE_H

#include "agent/unwind/stack_cache.h"
#include "agent/unwind/stack_word.h"

#define LEAF_BITS_FIRST 5  /* logarithm of the number of segments in use at first … */
#define LEAF_BITS_GROW  1  /* … by how much it grows … */
#define LEAF_BITS_MAX   8  /* … and at most */
#define LEAF_FRAMES     7  /* longer ones are rare: 4 % of clang++'s */
#define LEAF_WORDS      14 /* code without tables needs two a frame; a segment is 576 bytes */

#define LEAF_TRIES 1024  /* after so many it is judged … */
#define LEAF_PAUSE 16384 /* … and, if it did badly, left alone for so many captures */

struct leaf_segment {
	uint64_t pc, sp, fp; /* where it begins; pc 0: empty */
	uint16_t joined;     /* index of the frame that it joins */
	uint8_t count;       /* frames; cached_frame.words as they were in the stack */
	uint8_t words;
	uint32_t needs_fp;                       /* fp above counts */
	struct cached_frame joins;               /* that frame */
	struct cached_frame frames[LEAF_FRAMES]; /* outermost first */
	struct stack_word padding[WORD_GROUP];   /* see words_hold() */
	struct stack_word word[LEAF_WORDS];
};

/* Zero: empty. A thread's own. */
struct leaf_cache {
	uint32_t tries, hits;
	uint32_t pause;
	uint32_t grown; /* of LEAF_BITS: segments in use are those of FIRST + grown */
	struct leaf_segment segments[1 << LEAF_BITS_MAX];
};

static inline struct leaf_segment *leaf_cache_place(struct leaf_cache *leaves,
						    const struct unwind_state *state)
{
	uint64_t hash = (state->pc ^ state->sp << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return &leaves->segments[hash >> (64 - LEAF_BITS_FIRST - leaves->grown)];
}

/*
 * After LEAF_TRIES. What is kept under another place than the new number gives is not found there,
 * and overwritten in time.
 */
static inline void leaf_cache_judge(struct leaf_cache *leaves)
{
	if (leaves->hits < LEAF_TRIES / 10 * 9 && LEAF_BITS_FIRST + leaves->grown < LEAF_BITS_MAX)
		leaves->grown += LEAF_BITS_GROW;
	else if (leaves->hits < LEAF_TRIES / 2)
		leaves->pause = LEAF_PAUSE;
	leaves->tries = leaves->hits = 0;
}

/* Nothing kept is true any more. Untouched segments stay so. */
static inline void leaf_cache_clear(struct leaf_cache *leaves)
{
	for (uint32_t i = 0; i < 1u << (LEAF_BITS_FIRST + leaves->grown); i++)
		if (leaves->segments[i].pc)
			leaves->segments[i].pc = 0;
}

/* Whether to look at all. Counts the try. */
static inline bool leaf_cache_try(struct leaf_cache *leaves)
{
	if (unlikely(leaves->pause)) {
		leaves->pause--;
		return false;
	}
	if (unlikely(++leaves->tries == LEAF_TRIES)) {
		leaf_cache_judge(leaves);
	}
	return true;
}

/* Whether the segment is what a walk from state would find, down to the frame that it joins. */
static inline __attribute__((always_inline)) bool
leaf_cache_holds(const struct stack_cache *cache, const struct leaf_segment *segment,
		 const struct unwind_state *state)
{
	const struct cached_frame *joined = &cache->frames[segment->joined];
	size_t differs;

	return segment->pc == state->pc && segment->sp == state->sp &&
	       (!segment->needs_fp || segment->fp == state->fp) &&
	       segment->joined <= cache->depth && joined->sp == segment->joins.sp &&
	       joined->pc == segment->joins.pc && joined->words == segment->joins.words &&
	       (!(joined->words & 1) || joined->fp == segment->joins.fp) && !cache->broken &&
	       words_hold(segment->word, segment->words, &differs) &&
	       words_hold(cache->words, joined->words >> 1, &differs);
}

/* Puts the segment on top of the frame that it joins. */
static inline __attribute__((always_inline)) void leaf_cache_use(struct stack_cache *cache,
								 const struct leaf_segment *segment)
{
	uint32_t at = segment->joined;
	struct cached_frame *frames = cache->frames + at + 1;
	struct stack_word *words = cache->words + (cache->frames[at].words >> 1);

	if (cache->shared > at)
		cache->shared = at;
	if (unlikely(cache->bounded > at))
		cache->bounded = at;
	// By halves, where a number of rounds would be foretold wrongly each time: what is copied
	// too much lies above the stack, where there is room for it.
	for (uint32_t i = 0; i < LEAF_FRAMES / 2; i++)
		frames[i] = segment->frames[i];
	if (segment->count > LEAF_FRAMES / 2)
		for (uint32_t i = LEAF_FRAMES / 2; i < LEAF_FRAMES; i++)
			frames[i] = segment->frames[i];
	for (uint32_t i = 0; i < LEAF_WORDS / 2; i++)
		words[i] = segment->word[i];
	if (segment->words > LEAF_WORDS / 2)
		for (uint32_t i = LEAF_WORDS / 2; i < LEAF_WORDS; i++)
			words[i] = segment->word[i];
	cache->depth = at + segment->count;
}

/* The stack's innermost count frames become a segment. */
static inline void leaf_cache_keep(const struct stack_cache *cache, struct leaf_segment *segment,
				   const struct unwind_state *state, uint32_t count)
{
	uint32_t at = cache->depth - count;
	uint32_t base = cache->frames[at].words >> 1;
	uint32_t words = (cache->frames[cache->depth].words >> 1) - base;

	if (count > LEAF_FRAMES || words > LEAF_WORDS || at > UINT16_MAX)
		return;
	segment->pc = state->pc;
	segment->sp = state->sp;
	segment->fp = state->fp;
	segment->joined = (uint16_t)at;
	segment->count = (uint8_t)count;
	segment->words = (uint8_t)words;
	segment->needs_fp = cache->frames[cache->depth].words & 1;
	segment->joins = cache->frames[at];
	for (uint32_t i = 0; i < count; i++)
		segment->frames[i] = cache->frames[at + 1 + i];
	for (uint32_t i = 0; i < words; i++)
		segment->word[i] = cache->words[base + i];
	words_pad(segment->padding);
}

#endif
