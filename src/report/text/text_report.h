/* `mallow report`: where the memory went, as text. */
#ifndef MALLOW_REPORT_TEXT_TEXT_REPORT_H
#define MALLOW_REPORT_TEXT_TEXT_REPORT_H

#include "analysis/sums/histogram.h"
#include "report/views/breakdown_view.h"
#include "report/words/style.h"
#include "report/views/subject.h"
#include "report/text/findings_text.h"

struct text_report_options {
	struct findings_text_words words; /* for commands that show more */
	enum metric metric;
	bool page;    /* sites: as much as a page of 40 lines holds; top is not used */
	uint32_t top; /* how many sites, rows, or children of a tree's node are shown; 0: all */
	/* One of these instead of sites: */
	bool tree;
	bool errors;                            /* heap errors; the recording was opened for them */
	bool pools;                             /* the program's own pools … */
	uint32_t pool_sites;                    /* … with so many sites of each; 0: all */
	const struct map_sites *mappings;       /* what the program mapped itself; NULL: none */
	const struct breakdown_view *breakdown; /* NULL: none */
	const struct histogram *histogram;      /* NULL: none */
};

/* Writes the header, the summary, and what options ask for. Failures of writing are in buf. */
struct err *text_report_write(struct buf *buf, const struct style *style,
			      const struct report_subject *subject,
			      const struct text_report_options *options);

/* Writes the recorded command, cut to so many columns. */
void text_report_command(struct buf *buf, const struct recording_facts *facts, size_t columns);

/*
 * Writes what was recorded: "program arguments (pid 12)"; for merged recordings "program arguments
 * and 3 more". Also the title of other views. Arguments are cut so that the whole fits into
 * columns; 0: so that it is still one paragraph.
 */
void text_report_title(struct buf *buf, const struct recording_facts *facts, size_t columns);

/* Says what the usual words mean in a recording of a live table; of others nothing. */
void text_report_live(struct buf *buf, const struct recording_facts *facts);

/* Writes a line for each reason why the numbers do not count everything that the program did. */
void text_report_reservations(struct buf *buf, const struct style *style,
			      const struct recording_facts *facts);

#endif
