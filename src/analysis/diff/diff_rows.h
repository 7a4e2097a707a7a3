/* What changed from one side of a diff to the other: its sums by function, file, module or site. */
#ifndef MALLOW_ANALYSIS_DIFF_DIFF_ROWS_H
#define MALLOW_ANALYSIS_DIFF_DIFF_ROWS_H

#include "analysis/diff/diff.h"
#include "analysis/groups/block_groups.h"
#include "analysis/sites/metric.h"

enum diff_by { DIFF_BY_FUNCTION, DIFF_BY_SITE, DIFF_BY_FILE, DIFF_BY_MODULE };

struct diff_row {
	struct site sums[DIFF_SIDES]; /* of what it asked for itself; of a site its sums */
	/* By function, file and module: as in struct block_groups. By site: NULL. */
	const char *name;
	/*
	 * A frame of it: of a function the line that changed most, of a site what it is called
	 * after (own_code.h). NULL: there is no stack.
	 */
	const struct named_frame *frame;
	const struct named_frame *call; /* of a site: what it called there (own_code.h), or NULL */
	uint32_t stack; /* of a site; RECORDING_NONE: it has none, or the row is no site's */
};

/* Rows that changed, by the size of their change, the largest first. Zeroed: empty. */
struct diff_rows {
	struct diff_row *items;
	uint32_t count;
	struct block_groups groups; /* has the names */
};

/*
 * *ret: empty. Rows are those whose metric changed. They use memory of the diff. The only error: no
 * memory.
 */
struct err *diff_rows_create(const struct diff *diff, enum diff_by by, enum metric metric,
			     struct diff_rows *ret);
void diff_rows_deinit(struct diff_rows *rows);

/* How much more after has. */
int64_t diff_row_change(const struct diff_row *row, enum metric metric);

/* How much more of a metric is in after as a whole. */
int64_t diff_change(const struct diff *diff, enum metric metric);

#endif
