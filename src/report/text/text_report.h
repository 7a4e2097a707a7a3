/* `mallow report`: where the memory went, to be read in a terminal. */
#ifndef MALLOW_REPORT_TEXT_TEXT_REPORT_H
#define MALLOW_REPORT_TEXT_TEXT_REPORT_H

#include "analysis/breakdown/histogram.h"
#include "report/breakdown_view.h"
#include "report/style.h"
#include "report/subject.h"

struct text_report_options {
	enum metric metric;
	uint32_t top; /* sites, rows, or children of a tree node, shown at most; 0: all */
	/* Instead of sites one of these. */
	bool tree;
	bool errors;         /* heap errors, for which the recording was opened */
	bool pools;          /* the program's own pools … */
	uint32_t pool_sites; /* … and so many sites of each at most; 0: all */
	const struct breakdown_view *breakdown; /* NULL: none */
	const struct histogram *histogram;      /* NULL: none */
};

/* Header, summary, then what is asked for. The writing itself fails in buf. */
struct err *text_report_write(struct buf *buf, const struct style *style,
			      const struct report_subject *subject,
			      const struct text_report_options *options);

/* The command that was recorded, cut to so many columns. */
void text_report_command(struct buf *buf, const struct recording_facts *facts, size_t columns);

/*
 * "program arguments  (pid 12)", of merged recordings "program arguments  and 3 more": what was
 * recorded; also the title of other views. The arguments are cut so that the whole takes at most
 * columns; 0: at a length that is still one paragraph.
 */
void text_report_title(struct buf *buf, const struct recording_facts *facts, size_t columns);

/* A line for each reason why the numbers are not those of all that the program did. */
void text_report_reservations(struct buf *buf, const struct style *style,
			      const struct recording_facts *facts);

#endif
