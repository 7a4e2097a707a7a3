/*
 * The file of --ignore: which backtraces a live report leaves out. A line is looked for anywhere in
 * the printed frames of a backtrace; a line leak:PATTERN is one of LeakSanitizer's suppressions
 * (analysis/leaks/suppressions.h). Blank lines, and those that begin with '#', are comments.
 */
#ifndef MALLOW_REPORT_VIEWS_LIVE_IGNORE_H
#define MALLOW_REPORT_VIEWS_LIVE_IGNORE_H

#include "analysis/leaks/suppressions.h"
#include "hosted/arena.h"
#include "hosted/vec.h"

/* Zeroed: nothing is ignored. */
struct live_ignore {
	struct arena arena;
	VEC(const char *) texts;
	struct suppressions *suppressions; /* NULL: none */
};

/* Adds the lines of a text. origin: where it comes from, for messages. Both are copied. */
struct err *live_ignore_add(struct live_ignore *ignore, const char *origin, const char *text,
			    size_t size);
void live_ignore_deinit(struct live_ignore *ignore);

/* Whether text contains one of the lines (but not leak:PATTERN). */
bool live_ignore_has_text(const struct live_ignore *ignore, const char *text);

#endif
