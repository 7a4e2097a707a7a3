/* The kinds of limits that a recording can be held to: checks.def. */
#ifndef MALLOW_ANALYSIS_CHECKS_CHECK_H
#define MALLOW_ANALYSIS_CHECKS_CHECK_H

#include "analysis/sites/metric.h"

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

#endif
