/* `mallow info`: what a recording is, and whether all of it is there; and lists of processes. */
#ifndef MALLOW_REPORT_TEXT_INFO_TEXT_H
#define MALLOW_REPORT_TEXT_INFO_TEXT_H

#include "analysis/process_list.h"
#include "analysis/recording.h"
#include "report/words/style.h"

enum process_text_columns {
	PROCESS_TEXT_FACTS, /* when, how long, events, whether complete; the file */
	PROCESS_TEXT_SUMS,  /* peak, leaked, total */
};

/*
 * Writes a list of processes: a heading, and a line for each, children below their parents. list:
 * ordered.
 */
void process_text_write(struct buf *buf, const struct style *style, const struct process_list *list,
			enum process_text_columns columns);

/* modules: also list the loaded files and their build ids. */
void info_text_write(struct buf *buf, const struct style *style, const struct recording *recording,
		     bool modules);

#endif
