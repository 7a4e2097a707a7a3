/*
 * Frees that are errors of the program: of an address that was never allocated, of a block that
 * was freed already, or by a function that does not belong to the one that allocated.
 *
 * While events come, suspects are written down; at the end the blocks of the recording tell what
 * each of them is. Only what is certain is called an error: a recording that began by fork, was
 * switched off for a while or has gaps holds frees of blocks that it cannot know. So may any: what
 * operator new throws was allocated in the middle of it, where nothing is recorded. The allocators
 * of glibc and musl abort when a block is none of theirs: a thread that went on was right.
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

enum heap_error_kind {
	HEAP_ERROR_NEVER_ALLOCATED,
	HEAP_ERROR_DOUBLE_FREE,
	HEAP_ERROR_MISMATCH, /* malloc and delete, new[] and delete, … */
};

/* All errors of one kind with equal functions and stacks. */
struct heap_error {
	enum heap_error_kind kind;
	/* Operation that allocated the block, 0: none is known. Of an address never allocated: the
	 * block within which it lies. */
	uint8_t entry;
	uint8_t release;     /* operation that freed it wrongly */
	uint32_t allocated;  /* innermost node of the allocation's stack, if entry */
	uint32_t freed;      /* of the wrong free's, RECORDING_NONE: not recorded */
	uint32_t freed_once; /* double free: of the first free's, RECORDING_NONE: not recorded */
	uint64_t count;
	/* The first of them. */
	uint64_t time_ns;
	uint64_t size;                            /* of the block, if entry */
	uint64_t offset;                          /* of the address from its beginning */
	uint32_t thread;                          /* that freed wrongly: index */
	uint64_t addresses[HEAP_ERROR_ADDRESSES]; /* of the first ones: as many as count */
};

/* A free that is an error, or may be one. */
struct heap_suspect {
	uint64_t address;
	uint64_t ticks;
	uint64_t block; /* number of the block it freed wrongly, BLOCK_NONE: it freed none */
	uint64_t rows;  /* blocks that had come to be by then */
	uint32_t stack; /* RECORDING_NONE: not recorded */
	uint32_t thread;
	uint8_t release;
	uint64_t turn; /* how many operations the thread had had, this one included */
};

struct heap_errors {
	bool wanted;
	VEC(struct heap_suspect) suspects;
	VEC(uint64_t) turns;           /* of each thread: its operations */
	VEC(struct heap_error) errors; /* after heap_errors_judge() */
	uint64_t unjudged;
};

void heap_errors_deinit(struct heap_errors *errors);

/* Whether a block that was allocated by one operation may be freed by the other. */
bool heap_errors_match(uint8_t entry, uint8_t release);

/* One more operation of a thread; *turn receives how many it has had. */
struct err *heap_errors_turn(struct heap_errors *errors, uint32_t thread, uint64_t *turn);

/*
 * Makes the errors of a recording of which everything is loaded, its blocks with times in
 * nanoseconds.
 */
struct err *heap_errors_judge(struct recording *recording, const struct tick_clock *clock);

#endif
