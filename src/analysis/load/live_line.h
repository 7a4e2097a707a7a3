/*
 * How many bytes were live over time: a step for each moment at which something was allocated or
 * freed. Used to find the moment at which several processes together had most live.
 */
#ifndef MALLOW_ANALYSIS_LOAD_LIVE_LINE_H
#define MALLOW_ANALYSIS_LOAD_LIVE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"

/*
 * An operation is a free or an allocation, in the order in which the engine takes them; a realloc
 * is one of each. Equal times are common: a step is all operations of one time.
 */
struct live_step {
	uint64_t time_ns;         /* since the recording's start; ticks until load_finish() */
	uint64_t bytes;           /* live at the end of the step */
	uint64_t most;            /* the most that was live after one of its operations … */
	uint64_t most_operations; /* … and the number of that operation */
	uint64_t operations;      /* operations at the end of the step */
};

struct live_line {
	bool wanted;         /* steps are to be kept */
	uint64_t moment;     /* the operation after which sums are to be held, 0: none */
	uint64_t operations; /* operations so far */
	VEC(struct live_step) steps;
};

/* Takes note of an operation after which so many bytes are live. ticks never go back. */
static inline struct err *live_line_note(struct live_line *line, uint64_t ticks, uint64_t bytes)
{
	size_t count = line->steps.count;
	uint64_t number = line->operations;
	struct live_step *last;

	if (!count || line->steps.items[count - 1].time_ns != ticks) {
		struct live_step step = {ticks, bytes, bytes, number, number};

		return vec_push(&line->steps, step) ? NULL : err_no_memory();
	}
	last = &line->steps.items[count - 1];
	if (bytes > last->most) {
		last->most = bytes;
		last->most_operations = number;
	}
	last->bytes = bytes;
	last->operations = number;
	return NULL;
}

#endif
