/*
 * Frees that are errors of the program: the address was never allocated, the block was freed
 * already, or the function does not belong to the one that allocated.
 *
 * While events are read, suspects are noted. At the end the blocks of the recording tell what each
 * of them is. Only what is certain is called an error. A recording that began by fork, was switched
 * off for a while, or has gaps may have frees of blocks that it does not know. So may any
 * recording: an exception that operator new throws is allocated within operator new, where nothing
 * is recorded. But glibc and musl abort on the free of a block that is not theirs. So if the thread
 * went on after a suspect, its free was right.
 */
#ifndef MALLOW_ANALYSIS_ERRORS_HEAP_ERRORS_H
#define MALLOW_ANALYSIS_ERRORS_HEAP_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"
#include "trace/decode.h"

struct recording;
struct tick_clock;

#define HEAP_ERROR_ADDRESSES 3

/* Of so many suspects it is known whether they lie in a block. */
#define HEAP_SUSPECTS_LOOKED_FOR 256

enum heap_error_kind {
	HEAP_ERROR_NEVER_ALLOCATED,
	HEAP_ERROR_DOUBLE_FREE,
	HEAP_ERROR_MISMATCH, /* malloc and delete, new[] and delete, … */
};

/* All errors of one kind with equal functions and stacks. */
struct heap_error {
	enum heap_error_kind kind;
	/*
	 * The operation that allocated the block, 0: not known. For an address that was never
	 * allocated: the block that it lies in.
	 */
	uint8_t entry;
	uint8_t release; /* the operation that freed wrongly */
	/* Stacks, by their innermost nodes. RECORDING_NONE: not recorded. */
	uint32_t allocated;  /* if entry: of the allocation */
	uint32_t freed;      /* of the wrong free */
	uint32_t freed_once; /* double free: of the first free */
	uint64_t count;
	/* About the first of these errors: */
	uint64_t time_ns;
	uint64_t size;                            /* if entry: the block's size */
	uint64_t offset;                          /* of the address from the block's beginning */
	uint32_t thread;                          /* index of the thread that freed wrongly */
	uint64_t addresses[HEAP_ERROR_ADDRESSES]; /* of the first errors: at most `count` of them */
};

/* A free that is an error, or may be one. */
struct heap_suspect {
	uint64_t address;
	uint64_t ticks;
	uint64_t block; /* the block that it freed by a wrong function; BLOCK_NONE: it freed none */
	uint64_t rows;  /* how many blocks there were by then */
	uint32_t stack; /* RECORDING_NONE: not recorded */
	uint32_t thread;
	uint8_t release;
	bool inside;   /* the address may lie in a live block, behind its first byte */
	uint64_t turn; /* how many operations the thread had done, this one included */
};

struct heap_errors {
	bool wanted;
	VEC(struct heap_suspect) suspects;
	VEC(uint64_t) turns;           /* for each thread: how many operations it did */
	VEC(struct heap_error) errors; /* after heap_errors_judge() */
	uint64_t unjudged;
};

void heap_errors_deinit(struct heap_errors *errors);

/* Operations of operator new and delete, and of those for arrays; all others are malloc's. */
#define HEAP_ERRORS_NEW                                                                            \
	(1u << TRACE_OP_NEW | 1u << TRACE_OP_NEW_NOTHROW | 1u << TRACE_OP_NEW_ALIGNED |            \
	 1u << TRACE_OP_NEW_ALIGNED_NOTHROW | 1u << TRACE_OP_DELETE)
#define HEAP_ERRORS_NEW_ARRAY                                                                      \
	(1u << TRACE_OP_NEW_ARRAY | 1u << TRACE_OP_NEW_ARRAY_NOTHROW |                             \
	 1u << TRACE_OP_NEW_ARRAY_ALIGNED | 1u << TRACE_OP_NEW_ARRAY_ALIGNED_NOTHROW |             \
	 1u << TRACE_OP_DELETE_ARRAY)

/*
 * Whether a block allocated by one operation may be freed by the other: both must be of one family.
 */
static inline bool heap_errors_match(uint8_t entry, uint8_t release)
{
	unsigned int either = 1u << (entry & TRACE_OP_MASK),
		     other = 1u << (release & TRACE_OP_MASK);

	return !(either & HEAP_ERRORS_NEW) == !(other & HEAP_ERRORS_NEW) &&
	       !(either & HEAP_ERRORS_NEW_ARRAY) == !(other & HEAP_ERRORS_NEW_ARRAY);
}

/*
 * Whether heap_errors_judge() will look at blocks, by what is known when all events were taken:
 * they are many, so it is better to know that none is needed.
 */
bool heap_errors_need_blocks(const struct recording *recording);

/*
 * Finds the errors of a recording, once all of it is loaded. Times of its blocks must be in
 * nanoseconds already.
 */
struct err *heap_errors_judge(struct recording *recording, const struct tick_clock *clock);

#endif
