/* The inside of struct filter: for filter.c, which makes it, and the files that match by it. */
#ifndef MALLOW_ANALYSIS_FILTER_FILTER_DATA_H
#define MALLOW_ANALYSIS_FILTER_FILTER_DATA_H

#include "analysis/filter/filter.h"
#include "analysis/filter/moment.h"
#include "analysis/leaks/suppressions.h"
#include "hosted/regex.h"

enum filter_id {
#define FILTER(NAME, name, kind, value, choices, text) FILTER_##NAME,
#include "analysis/filter/filter.def"
#undef FILTER
	FILTER_COUNT,
};

/* In the order of the choices in filter.def. */
enum filter_lifetime {
	FILTER_LIFETIME_ALL,
	FILTER_LIFETIME_LEAKED,
	FILTER_LIFETIME_NOT_FREED_IN_RANGE,
	FILTER_LIFETIME_FREED_IN_RANGE,
	FILTER_LIFETIME_FREED,
	FILTER_LIFETIME_GROUP_LEAKED,
	FILTER_LIFETIME_CHAIN_LEAKED,
};

/* A condition. How its text is parsed depends on its kind. */
struct filter_condition {
	char *name;      /* as typed, for errors when matching; NULL: not set */
	char *text;      /* as typed */
	uint64_t number; /* bytes, nanoseconds, index of the choice, or a bit for each entry */
	bool percent;    /* number is in units of PERCENT instead */
	struct moment moment;
	struct regex *regex;
	struct suppressions *suppressions;
};

struct filter {
	struct filter_condition conditions[FILTER_COUNT];
};

/* A match of all of so many blocks; its count is not set. */
struct err *filter_match_create(uint64_t blocks, struct filter_match *ret);

static inline bool filter_has(const struct filter *filter, enum filter_id id)
{
	return filter->conditions[id].name != NULL;
}

#endif
