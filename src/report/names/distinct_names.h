/*
 * Remembers which text stands for which function in a report, so that no text stands for two: rows
 * that read the same are the same function.
 */
#ifndef MALLOW_REPORT_NAMES_DISTINCT_NAMES_H
#define MALLOW_REPORT_NAMES_DISTINCT_NAMES_H

#include <stdbool.h>

#include "hosted/intern.h"
#include "hosted/map.h"

/* Zeroed: empty. */
struct distinct_names {
	struct intern strings;
	struct map names; /* from a text's address to its function's */
};

void distinct_names_deinit(struct distinct_names *names);

/*
 * Whether text may stand for that function: it does already, or it stands for none yet, and from
 * now on for this one. Both are copied. Without memory: true. names NULL: true.
 */
bool distinct_names_claim(struct distinct_names *names, const char *text, const char *function);

#endif
