/* How the frames of recordings get their names, and which of them are the reader's own code. */
#ifndef MALLOW_ANALYSIS_NAMES_NAMING_H
#define MALLOW_ANALYSIS_NAMES_NAMING_H

#include "analysis/names/plumbing.h"
#include "symbols/addr2line.h"
#include "symbols/symbolizer.h"

/* All are borrowed. They may serve many recordings, one after the other. */
struct naming {
	struct symbolizer *symbolizer;   /* NULL: each recording makes one of its own */
	const struct plumbing *plumbing; /* NULL: that of plumbing.def alone */
	/* The file to read for the program itself; NULL: the one that it ran from. */
	const char *program;
	struct addr2line *addr2line; /* has the program's names; NULL: its file has them */
};

#endif
