/* A list of processes as text, children below their parents. */
#ifndef MALLOW_REPORT_TEXT_PROCESS_TEXT_H
#define MALLOW_REPORT_TEXT_PROCESS_TEXT_H

#include "analysis/process_list.h"
#include "report/words/style.h"

enum process_text_columns {
	PROCESS_TEXT_FACTS, /* when, how long, events, whether complete; the file */
	PROCESS_TEXT_SUMS,  /* peak, leaked, total */
};

/* Writes a heading, and a line for each process. list: ordered. */
void process_text_write(struct buf *buf, const struct style *style, const struct process_list *list,
			enum process_text_columns columns);

#endif
