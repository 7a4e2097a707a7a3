/* What a process, or the kernel, has allocated and not freed, at one moment, by stack. */
#ifndef MALLOW_EBPF_OUTSTANDING_H
#define MALLOW_EBPF_OUTSTANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/bpf/bpf_shared.h"
#include "hosted/err.h"
#include "hosted/map.h"
#include "hosted/vec.h"

struct outstanding_stack {
	uint32_t number; /* STACK_NONE: those whose stack is lost */
	uint32_t end;    /* enum stack_end */
	uint32_t frame_count;
	uint64_t bytes;
	uint64_t blocks;
	const uint64_t *frames; /* see FRAME_INTERRUPTED; they live as long as the tracer */
	uint64_t source;        /* of the kernel's memory, see kernel_shared.h; else 0 */
	bool doubted;           /* most of its blocks are freed: it comes after the others */
};

struct outstanding_block {
	uint64_t address;
	uint64_t size;
	uint64_t time_ns;
	uint32_t stack;
	uint32_t tid;
};

/* Zeroed: empty. */
struct outstanding {
	VEC(struct outstanding_stack) stacks; /* those with most bytes (or blocks) first */
	VEC(struct outstanding_block) blocks; /* smallest first; only if asked for */
	uint64_t bytes, block_count;          /* of all stacks */
	uint64_t young;                       /* blocks left out because they are too young */
};

void outstanding_deinit(struct outstanding *outstanding);

/* The stack of that number, with sums of 0. words: the table `stacks`. */
struct outstanding_stack outstanding_stack_read(const uint64_t *words, uint64_t word_count,
						uint32_t number);

/* While outstanding blocks are summed by stack. Zeroed but for the words: empty. */
struct outstanding_index {
	const uint64_t *words; /* the table `stacks` */
	uint64_t word_count;
	struct map by_number; /* of a stack: its index in outstanding->stacks */
};

void outstanding_index_deinit(struct outstanding_index *index);

/*
 * The stack of that number, added with sums of 0 if it is new. NULL: no memory. The pointer lives
 * until the next call.
 */
struct outstanding_stack *outstanding_stack_of(struct outstanding_index *index,
					       struct outstanding *outstanding, uint32_t number);

/* What a reading of the kernel's tables does with each entry. */
struct outstanding_reader {
	int blocks, stack_ids; /* descriptors of the tables … */
	const uint64_t *words; /* … and the table `stacks` */
	struct err *(*add_block)(void *argument, uint64_t address, const struct block *block);
	/* Of tables without blocks (`combined`): a stack's sums, which are not 0. */
	struct err *(*add_sum)(void *argument, uint32_t number, const struct stack_head *sums);
	void *argument;
};

struct err *outstanding_read(const struct outstanding_reader *reader, bool combined);

/* Blocks are left out that were allocated later. older_ns: the least age; 0: all are wanted. */
uint64_t outstanding_until(uint64_t older_ns);

/* Sorts stacks and blocks, and adds up the sums of all stacks. by_count: most blocks first. */
void outstanding_sort(struct outstanding *outstanding, bool by_count);

#endif
