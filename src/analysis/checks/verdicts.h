/*
 * Holds a recording to limits: which hold, which are broken, by how much, and by which places in
 * own code. In words: report/check/.
 */
#ifndef MALLOW_ANALYSIS_CHECKS_VERDICTS_H
#define MALLOW_ANALYSIS_CHECKS_VERDICTS_H

#include "analysis/diff/diff.h"
#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "analysis/sites/metric.h"

/* The kinds of limits that a recording can be held to: checks.def. */
enum check {
#define CHECK(NAME, name, unit, metric, scope, value, text) CHECK_##NAME,
#include "analysis/checks/checks.def"
#undef CHECK
	CHECKS,
};

enum check_scope { CHECK_SCOPE_ALL, CHECK_SCOPE_OWN };
enum check_unit { CHECK_UNIT_BYTES, CHECK_UNIT_COUNT, CHECK_UNIT_SHARE, CHECK_UNIT_RATE };

struct check_info {
	const char *name;   /* "peak" */
	const char *option; /* "max-peak" */
	const char *value;  /* what help calls its value: "SIZE" */
	const char *text;   /* what is limited */
	enum check_unit unit;
	enum metric metric;
	enum check_scope scope;
};

const struct check_info *check_info(enum check check);

/* Whether --baseline compares it. */
static inline bool check_has_baseline(enum check check)
{
	return check_info(check)->unit != CHECK_UNIT_RATE &&
	       check_info(check)->scope == CHECK_SCOPE_ALL;
}

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

/* What is judged is only some blocks of a recording. */
struct check_matching {
	const struct recording *recording; /* the whole one, with blocks */
	const struct filter_match *match;
	const uint32_t *suppressed; /* as struct suppressed's stacks; NULL: no leaks are */
};

enum verdict_state {
	VERDICT_HOLDS,
	VERDICT_BROKEN,
	VERDICT_UNKNOWN, /* the recording does not have the number */
};

/* A place that contributes to a broken limit; of_baseline: a function. */
struct verdict_place {
	const struct named_frame *frame; /* as of struct own_code; NULL: the stack is empty */
	const struct named_frame *call;  /* what it called there; NULL: not known, or of_baseline */
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
	/* Of a broken one: the places with most of it; of_baseline: the functions that grew most.
	 */
	struct verdict_place places[VERDICT_PLACES];
	uint32_t place_count;
};

/* Each check may have a limit of its own, and one of the baseline. */
struct verdicts {
	struct verdict items[2 * CHECKS];
	uint32_t count;
	struct diff *diff; /* has the frames of those of_baseline; NULL: none is broken */
};

/*
 * Judges a recording; symbolized: its, or that of the recording that it was made from. matching:
 * which blocks of that one it has; NULL: all. baseline NULL: none. Frames in *ret live as long as
 * it and symbolized. The errors are those of names: no memory.
 */
struct err *verdicts_make(const struct check_limits *limits, const struct check_baseline *baseline,
			  const struct recording *recording, struct symbolized *symbolized,
			  const struct check_matching *matching, struct verdicts *ret);
/* Accepts a zeroed struct. */
void verdicts_deinit(struct verdicts *verdicts);

/* How many have that state. */
uint32_t verdicts_count(const struct verdicts *verdicts, enum verdict_state state);

#endif
