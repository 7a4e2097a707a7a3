#include "agent/report/report_sort.h"

/* Lets the row at `at` sink until no row below it comes later. */
static void sink_row(const void **rows, size_t at, size_t count, report_before *before, int by)
{
	for (;;) {
		size_t last = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (before(rows[last], rows[child], by))
				last = child;
		if (last == at)
			return;
		const void *row = rows[at];

		rows[at] = rows[last];
		rows[last] = row;
		at = last;
	}
}

void report_sort(const void **rows, size_t count, report_before *before, int by)
{
	for (size_t i = count / 2; i-- > 0;)
		sink_row(rows, i, count, before, by);
	for (size_t left = count; left-- > 1;) {
		const void *last = rows[0];

		rows[0] = rows[left];
		rows[left] = last;
		sink_row(rows, 0, left, before, by);
	}
}
