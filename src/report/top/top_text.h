/*
 * The screen of `mallow top` as lines of text, each no longer than it is wide: what it is of, what
 * is live and was over time, then a table of sites or threads, the stack of the selected site if
 * that is open, and at the bottom what keys do. No colours: who draws the lines knows which is
 * which.
 */
#ifndef MALLOW_REPORT_TOP_TOP_TEXT_H
#define MALLOW_REPORT_TOP_TOP_TEXT_H

#include "hosted/buf.h"
#include "report/top/top_model.h"

/* What is on the screen. */
struct top_screen {
	unsigned width, height;
	const char *name;   /* of the process */
	const char *prompt; /* instead of the keys, NULL: none */
	bool frozen, ended;
	bool threads;  /* instead of sites */
	bool stack;    /* of the selected row is shown, too */
	size_t first;  /* row of the table at its top, kept within it so that … */
	size_t select; /* … this one is to be seen; the model may have fewer */
};

/* Lines that are to be drawn otherwise, from 0; below 0: there is none. */
struct top_lines {
	int titles;
	int selected;
	int keys;
};

/* screen->first and select are put right. The writing itself fails in buf. */
struct err *top_text_write(struct buf *buf, const struct top_model *model,
			   struct top_screen *screen, struct top_lines *ret);

#endif
