/*
 * The screen of `mallow top` as lines of text, none longer than the screen is wide: the process,
 * what is live, a chart of that over time, a table of sites or threads, the stack of the selected
 * site if it is open, and at the bottom what the keys do. No colours: the caller adds them (struct
 * top_lines).
 */
#ifndef MALLOW_REPORT_TOP_TOP_TEXT_H
#define MALLOW_REPORT_TOP_TOP_TEXT_H

#include "hosted/buf.h"
#include "report/names/distinct_names.h"
#include "report/top/top_model.h"

/* What is on the screen. */
struct top_screen {
	unsigned width, height;
	const char *name;             /* the process's name */
	const char *prompt;           /* shown instead of the keys; NULL: none */
	bool full;                    /* all frames are shown, with whole names */
	struct distinct_names *names; /* of functions that were shown; NULL: not remembered */
	bool frozen, ended;
	bool threads;  /* instead of sites */
	bool stack;    /* the stack of the selected row is shown, too */
	size_t first;  /* the row at the table's top, moved so that … */
	size_t select; /* … this one is visible; the model may have fewer */
};

/* Numbers of the lines that are drawn differently, from 0; below 0: there is no such line. */
struct top_lines {
	int titles;
	int selected;
	int keys;
};

/* Writes the screen. Corrects screen->first and select. Failures of writing are in buf. */
struct err *top_text_write(struct buf *buf, const struct top_model *model,
			   struct top_screen *screen, struct top_lines *ret);

#endif
