/* What a process has allocated and not freed, at one moment, by stack. */
#ifndef MALLOW_EBPF_OUTSTANDING_H
#define MALLOW_EBPF_OUTSTANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/bpf/bpf_shared.h"
#include "hosted/err.h"
#include "hosted/vec.h"

struct outstanding_stack {
	uint32_t number; /* STACK_NONE: those whose stack is lost */
	uint32_t end;    /* enum stack_end */
	uint32_t frame_count;
	uint64_t bytes;
	uint64_t blocks;
	const uint64_t *frames; /* see FRAME_INTERRUPTED; they live as long as the tracer */
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

#endif
