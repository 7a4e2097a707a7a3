/*
 * The last stack of a thread, kept so that the next one need not be walked to its root: the
 * "validated stack cache". Exact, not a guess.
 *
 *   frames[1]  outermost frame      { sp, pc, fp, id, words }
 *      …                            words: how many of words[] the steps from here outwards read
 *   frames[depth]  the hook's caller
 *
 *   words[0]  read by the last step of the walk       { address, value }
 *      …                                              in the order of reading from the top down
 *   words[n]  read by the first
 *
 * A capture steps from the innermost frame outwards until its state equals that of a remembered
 * frame. Then it compares memory with the words that the walk read from that frame on, in the same
 * order, and stops at the first difference. If all words are equal, all frames from there outwards
 * are what a walk would find. The proof is by induction: a step is a function of its state, of the
 * rule for its pc and of the words it reads. If a word differs, the walk goes on, and may meet the
 * remembered stack again further out. Nothing is read that a walk would not read.
 *
 * A step also depends on whether a word can be read. All words here can, as long as
 * unwind_host.forgot() is not called; then the cache must be cleared. If a walk wanted to read a
 * word that it could not, no later walk joins its frames.
 *
 * The fp of a frame is compared only if a step from there on depends on it (needs_fp). Elsewhere
 * the words that restore it are left out, too. Frames are 32 bytes, two to a cache line.
 *
 * A stack of more than depth_max frames is cut in steps of an eighth of depth_max. Example: at a
 * limit of 16,384, every stack of 18,433 to 20,480 frames loses its outermost 4,096. So the rest
 * begins at the same frame while the program calls and returns, and can be joined like any other
 * stack. The frames that are left out are not compared with memory: they change only if a program
 * overwrites return addresses there, and then the cut may be at another frame.
 *
 * Innermost frames that were met before are found in a segment of leaf_cache.h, not walked. They
 * stay in that segment, `top`, until a walk or a reader of frames[] needs them in frames[]. Mostly
 * the next capture comes first, and replaces `top`.
 *
 * Each thread has its own. No function here may be entered twice, by a signal handler for instance.
 */
#ifndef MALLOW_AGENT_UNWIND_STACK_CACHE_H
#define MALLOW_AGENT_UNWIND_STACK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"

struct stack_word;
struct fresh_frame;
struct leaf_cache;
struct leaf_segment;
struct stack_cache_push;

struct cached_frame {
	uint64_t sp; /* 0: no walk may join here: left by a signal, or not made by a walk */
	uint64_t pc;
	uint64_t fp;
	uint32_t id;    /* in the recording, 0: not known yet */
	uint32_t words; /* of stack_cache.words, times two; plus one: needs_fp */
};

/*
 * Zero but for the settings: empty. The arrays come from unwind_host.allocate() and are never
 * freed; stack_cache_recycle() hands them to the next thread.
 */
struct stack_cache {
	size_t depth_max;            /* setting: frames at most */
	uint64_t broken_pc;          /* setting: mark for the missing frames of a broken stack */
	uint64_t truncated_pc;       /* setting: the same, of a stack that was cut */
	struct cached_frame *frames; /* [0] ends every search; outermost frame first */
	struct stack_word *words;
	struct fresh_frame *fresh; /* frames of the current walk, innermost first */
	struct leaf_cache *leaves; /* see leaf_cache.h */
	struct leaf_segment *top;  /* the segment that holds the innermost frames, or NULL */
	uint32_t capacity;         /* frames */
	uint32_t depth;
	uint32_t settled; /* frames above this, and their words, are in top only */
	/*
	 * How many outermost frames are the same as in the stream's stack, which is the one of the
	 * last event written. The writer of events raises it; a capture as a whole only lowers it.
	 */
	uint32_t shared;
	/*
	 * How many outermost frames are still those that whoever sets it has seen, with all that
	 * they hold. A capture only lowers it.
	 */
	uint32_t seen;
	bool merged; /* its frames were pushed last by who puts stacks together, and are as they
			were */
	enum unwind_end end; /* not UNWIND_COMPLETE: frames[1] is a mark */
	uint64_t cut;        /* UNWIND_TRUNCATED: how many frames are left out */
};

/*
 * Makes the cache hold the stack that state describes. Call stack_cache_settle() before its frames
 * are read.
 *
 * UNWIND_COMPLETE: the whole stack. UNWIND_BROKEN, UNWIND_TRUNCATED: its outermost frame is
 * broken_pc or truncated_pc. UNWIND_REFUSED: nothing was done; use unwind_capture() and
 * stack_cache_set(). This happens if the stack needs registers that are not tracked here, if there
 * is no memory, or if the stack is too deep for a small depth_max.
 */
enum unwind_end stack_cache_capture(struct stack_cache *cache, const struct unwind_state *state,
				    struct unwind_stack *stack);

void stack_cache_settle_slow(struct stack_cache *cache);

/* Copies the innermost frames from `top`: frames[1 … depth] are valid then. */
static inline void stack_cache_settle(struct stack_cache *cache)
{
	if (cache->settled != cache->depth)
		stack_cache_settle_slow(cache);
}

/*
 * Makes the cache hold these frames, innermost first. No later walk joins them. false: no memory
 * for so many.
 */
bool stack_cache_set(struct stack_cache *cache, const uint64_t *pcs, size_t count);

/*
 * Replaces the innermost frames, for a stack that is put together from others. The outermost `keep`
 * frames stay; then stack_cache_push() for each frame from there inwards, at most `room`, then
 * stack_cache_pushed(). No walk joins them. false: no memory.
 */
bool stack_cache_cut(struct stack_cache *cache, uint32_t keep, size_t room,
		     struct stack_cache_push *push);

/* What is under way between stack_cache_cut() and stack_cache_pushed(). */
struct stack_cache_push {
	uint32_t at;     /* the frame that was pushed last */
	uint32_t shared; /* stack_cache.shared before, which it must not exceed */
};

/* id: see struct cached_frame. */
static inline void stack_cache_push(struct stack_cache *cache, struct stack_cache_push *push,
				    uint64_t pc, uint32_t id)
{
	uint32_t at = ++push->at;
	struct cached_frame *frame = &cache->frames[at];

	if (at <= cache->depth && frame->pc == pc) {
		if (!id)
			id = frame->id;
		if (cache->shared == at - 1 && at <= push->shared)
			cache->shared = at;
	}
	frame->sp = frame->fp = 0;
	frame->pc = pc;
	frame->id = id;
	frame->words = 0;
}

static inline void stack_cache_pushed(struct stack_cache *cache,
				      const struct stack_cache_push *push)
{
	cache->depth = cache->settled = push->at;
	cache->top = NULL;
	cache->end = UNWIND_COMPLETE;
}

/* Empties the cache: code was unloaded, or a change was interrupted and not completed. */
void stack_cache_clear(struct stack_cache *cache);

/* Prepares the cache of a thread that is gone for another: empty, with the arrays that it has. */
void stack_cache_recycle(struct stack_cache *cache);

#endif
