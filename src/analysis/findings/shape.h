/*
 * What the never freed bytes of some code look like over the run: whether they grow to its end, or
 * came once and stayed. Judged by the sixteen parts of the run (run_facts.h), taken two by two:
 *
 *	kept   . . # . . # . . # . . # . . . .    in steps
 *	kept   # # # # # # # # # # # # # # # #    grows to the end
 *	live   _ / - - - - - - - - - - - - - -    filled, then flat
 */
#ifndef MALLOW_ANALYSIS_FINDINGS_SHAPE_H
#define MALLOW_ANALYSIS_FINDINGS_SHAPE_H

#include "analysis/facts/run_facts.h"
#include "analysis/findings/finding_trust.h"

enum shape {
	SHAPE_NONE,    /* nothing was kept */
	SHAPE_LATE,    /* nine tenths of it came in the last 2 % of the run */
	SHAPE_ONCE,    /* nine tenths of it came within one eighth */
	SHAPE_FLAT,    /* in the second half no more than 5 % was gained */
	SHAPE_GROWS,   /* something was kept in six of the last seven eighths, or in each since it
			* began, at least three; and the end is 95 % of the most or more */
	SHAPE_STEPS,   /* kept in three parts or more, with parts of nothing between them */
	SHAPE_STOPPED, /* none of these */
};

/* "grows" and so on: as requests have it. */
const char *shape_word(enum shape shape);

/* What is kept: the sums of some sites. */
struct shape_input {
	uint64_t live[FACTS_POINTS], kept[FACTS_POINTS];
	uint64_t late_bytes;
	uint64_t kept_blocks;
};

struct shape_result {
	enum shape shape;
	enum finding_trust trust; /* SHAPE_NONE: nothing was judged */
	unsigned int first, last; /* the first and the last part in which something was kept */
	unsigned int steps;       /* runs of parts in which something was kept */
};

struct shape_result shape_judge(const struct shape_input *input);

/*
 * The same for a run of that duration: in a very short one all is start-up, and a curve of it says
 * nothing about a longer one.
 */
struct shape_result shape_judge_run(const struct shape_input *input, uint64_t duration_ns);

/* The begin of a part of a run. ends_ns: of all parts. */
uint64_t shape_begin_ns(const uint64_t *ends_ns, unsigned int part);

/* Bytes a second from the shape's first part to the end of the run. 0: it is not SHAPE_GROWS. */
uint64_t shape_rate(const struct shape_result *shape, uint64_t bytes, const uint64_t *ends_ns);

#endif
