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
 * frame; then it compares the words that the walk from there on read with memory, in the order in
 * which the walk would read them, stopping at the first difference. Since a step is a function of
 * its state, of the rule for its pc and of the words it reads, by induction all frames from there
 * outwards are what a walk would find if all words are equal. If one is not, the walk goes on and
 * may meet the remembered stack again further out. Nothing is read that a walk would not read.
 *
 * Whether a word can be read is part of what a step depends on. All words here can be, as long as
 * unwind_host.forgot() is not called; then everything is to be cleared. A walk that wanted to read
 * what it could not is never joined.
 *
 * The fp of a frame counts only where a step from there on depends on it (needs_fp); the words
 * that restore it are left out elsewhere. Frames are 32 bytes, two to a cache line.
 *
 * A stack of more than depth_max frames is cut in steps of an eighth of depth_max: of a stack of
 * 20,000 frames whose limit is 16,384, the outermost 4,096 are left out, as they are of all from
 * 18,433 to 20,480 frames. So what is left begins at the same frame while the program calls and
 * returns, and is joined like any other. What is left out is not compared with memory: it can only
 * change while a program writes other return addresses there, and then the cut may be elsewhere.
 *
 * Innermost frames that were met before are not walked but found (leaf_cache.h). They stay where
 * they are, in `top`, until a walk or a reader of frames[] needs them: most often neither does
 * before the next capture finds others.
 *
 * A thread's own: nothing here may be entered twice, by a signal handler for instance.
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

struct cached_frame {
	uint64_t sp; /* 0: no walk may join here: made by a signal, or not by a walk at all */
	uint64_t pc;
	uint64_t fp;
	uint32_t id;    /* in the recording, 0: not known yet */
	uint32_t words; /* of stack_cache.words, times two; plus one: needs_fp */
};

/*
 * Empty but for the settings. Its arrays come from unwind_host.allocate() and are never returned:
 * whoever drops the struct hands them on, by stack_cache_recycle().
 */
struct stack_cache {
	size_t depth_max;   /* setting: frames at most */
	uint64_t broken_pc; /* setting: the outermost frame of a stack that ends before its root */
	uint64_t truncated_pc;       /* setting: that of a stack that was cut */
	struct cached_frame *frames; /* [0] ends every search; outermost frame first */
	struct stack_word *words;
	struct fresh_frame *fresh; /* of the walk going on, innermost first */
	struct leaf_cache *leaves; /* see leaf_cache.h */
	struct leaf_segment *top;  /* holds just the innermost frames, NULL: none does */
	uint32_t capacity;         /* frames */
	uint32_t depth;
	uint32_t settled; /* frames beyond, and their words, lie in top only */
	/*
	 * How many of the outermost frames are as the writer of events left them: only lowered
	 * here, raised by the writer.
	 */
	uint32_t shared;
	enum unwind_end end; /* not UNWIND_COMPLETE: frames[1] says so */
	uint64_t cut;        /* UNWIND_TRUNCATED: so many frames are left out */
};

/*
 * Makes the cache hold the stack that state describes; stack_cache_settle() before its frames are
 * read. UNWIND_COMPLETE; or UNWIND_BROKEN or UNWIND_TRUNCATED: its outermost frame then is
 * broken_pc or truncated_pc. UNWIND_REFUSED: nothing was done, because the stack needs registers or
 * memory that are not at hand, or is deeper than a small depth_max: to be captured by
 * unwind_capture() and given to stack_cache_set().
 */
enum unwind_end stack_cache_capture(struct stack_cache *cache, const struct unwind_state *state,
				    struct unwind_stack *stack);

void stack_cache_settle_slow(struct stack_cache *cache);

/* Brings the innermost frames from where they were found: frames[1 … depth] are there then. */
static inline void stack_cache_settle(struct stack_cache *cache)
{
	if (cache->settled != cache->depth)
		stack_cache_settle_slow(cache);
}

/* Makes the cache hold these frames, innermost first. false: no memory for so many. */
bool stack_cache_set(struct stack_cache *cache, const uint64_t *pcs, size_t count);

/* Nothing of it is true any more: code was unloaded, or the last change was not completed. */
void stack_cache_clear(struct stack_cache *cache);

/* The cache of a thread that is gone becomes another's: empty, with the arrays that it has. */
void stack_cache_recycle(struct stack_cache *cache);

#endif
