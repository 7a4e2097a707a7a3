/*
 * The code of a process that is recorded: which modules and frames the recording has, and what the
 * tracer's stacks are in them.
 */
#ifndef MALLOW_EBPF_RECORD_RECORD_CODE_H
#define MALLOW_EBPF_RECORD_RECORD_CODE_H

#include "ebpf/target/loader_state.h"
#include "ebpf/tracer.h"
#include "hosted/map.h"
#include "write/recording_file.h"

/* A span of code, and the module record that it belongs to. */
struct recorded_span {
	struct target_span span;
	uint32_t id;  /* of the module record; 0: the span is in no module */
	bool lasting; /* it is never unmapped */
};

/* A stack of the recording. */
struct recorded_stack {
	size_t first; /* in `frames`, outermost first */
	uint32_t count;
	uint32_t end; /* enum stack_end */
	bool lost;    /* there was no room for it in the tracer's table */
};

/* Zeroed: empty. */
struct record_code {
	VEC(struct recorded_span) spans; /* that were mapped at the last look */
	VEC(struct record_frame) frames; /* of all stacks, one after the other */
	VEC(struct recorded_stack) stacks;
	struct map by_number;  /* of a stack: its index in `stacks` */
	struct map frame_ids;  /* (module id << 48 | pc): the frame's id */
	VEC(uint32_t) modules; /* of module record id - 1: the target's module */
	bool looked;           /* record_code_look() was called */
	struct lasting_modules lasting;
	bool one_off;         /* the last frames are of a stack that is not kept … */
	size_t one_off_first; /* … from here on */
};

void record_code_deinit(struct record_code *code);

/*
 * Looks at what the target has mapped now: writes records of modules that came, and of those that
 * went. To be called before the first stack, and when mappings have changed.
 */
struct err *record_code_look(struct record_code *code, const struct target *target, uint64_t now_ns,
			     struct recording_file *file);

/*
 * The stack of that number. Its frames are in the recording afterwards: records of new ones are
 * written to stream 0. generation: of the libraries when it was taken. If they have changed since,
 * it ends before the first frame that may be of another library now. *ret is valid until the next
 * call.
 */
struct err *record_code_stack(struct record_code *code, const struct tracer *tracer,
			      uint32_t number, uint32_t generation, struct recording_file *file,
			      struct recorded_stack *ret);

#endif
