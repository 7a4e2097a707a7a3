/* The suppressions that a program has in itself, as __lsan_default_suppressions(). */
#ifndef MALLOW_ANALYSIS_LEAKS_PROGRAM_SUPPRESSIONS_H
#define MALLOW_ANALYSIS_LEAKS_PROGRAM_SUPPRESSIONS_H

#include "analysis/leaks/suppressions.h"
#include "analysis/recording.h"

/*
 * Adds those of the recorded program, if its file is on this machine and the function returns a
 * constant text (symbols/constant_text.h). *note: owned (free()); why it is not known whether there
 * are any, NULL: it is. An error: no memory.
 */
struct err *program_suppressions_add(struct suppressions *suppressions,
				     const struct recording *recording, char **note);

#endif
