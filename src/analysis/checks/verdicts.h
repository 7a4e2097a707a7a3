/*
 * Holds a recording to limits: which hold, which are broken, by how much, and by which places in
 * own code. In words: report/check/.
 */
#ifndef MALLOW_ANALYSIS_CHECKS_VERDICTS_H
#define MALLOW_ANALYSIS_CHECKS_VERDICTS_H

#include "analysis/checks/check.h"
#include "analysis/names/symbolized.h"

struct check_limits {
	bool has[CHECKS];
	uint64_t most[CHECKS]; /* SHARE: as of percent_parse() */
};

/* An older recording that each sum is compared with. */
struct check_baseline {
	const struct recording *recording;
	struct symbolized *symbolized;
	uint64_t tolerance; /* so much more is allowed: as of percent_parse() */
};

enum verdict_state {
	VERDICT_HOLDS,
	VERDICT_BROKEN,
	VERDICT_UNKNOWN, /* the recording does not have the number */
};

/* A place that contributes to a broken limit. */
struct verdict_place {
	const struct named_frame *frame; /* as of struct own_code; NULL: the stack is empty */
	const struct named_frame *call;  /* what it called there; NULL: not known */
	uint64_t value;                  /* its part of the verdict's value */
	uint64_t before;                 /* the same in the baseline */
};

#define VERDICT_PLACES 5

struct verdict {
	enum check check;
	enum verdict_state state;
	const char *unknown; /* of VERDICT_UNKNOWN: why, a clause such as "it is a sample" */
	bool of_baseline;    /* the limit comes from the baseline */
	/*
	 * Bytes, calls, or bytes a second. It is broken if value > limit. Of a share both are
	 * calls, and `whole` is all calls.
	 */
	uint64_t value, limit, whole;
	uint64_t before; /* of_baseline: the baseline's value */
	/* Of a broken one: the places with most of it, or, of_baseline, those that grew most. */
	struct verdict_place places[VERDICT_PLACES];
	uint32_t place_count;
};

/* Each check may have a limit of its own, and one of the baseline. */
struct verdicts {
	struct verdict items[2 * CHECKS];
	uint32_t count;
};

/*
 * Judges a recording; symbolized: its, or that of the recording that it was made from. baseline
 * NULL: none. Frames in *ret live as long as symbolized. The errors are those of names: no memory.
 */
struct err *verdicts_make(const struct check_limits *limits, const struct check_baseline *baseline,
			  const struct recording *recording, struct symbolized *symbolized,
			  struct verdicts *ret);

/* How many have that state. */
uint32_t verdicts_count(const struct verdicts *verdicts, enum verdict_state state);

#endif
