/*
 * Plumbing: frames that are not the reader's own code. Allocators, the C library and the loader,
 * C++'s and Rust's standard libraries, functions of headers that were installed with the system
 * (plumbing.def). Users add theirs by a file (--plumbing).
 */
#ifndef MALLOW_ANALYSIS_NAMES_PLUMBING_H
#define MALLOW_ANALYSIS_NAMES_PLUMBING_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/cleanup.h"
#include "hosted/err.h"

struct named_frame;
struct plumbing;

/* *ret: that of plumbing.def alone. */
struct err *plumbing_create(struct plumbing **ret);
/* Accepts NULL. */
void plumbing_destroy(struct plumbing *plumbing);
CLEANUP_DEFINE(struct plumbing *, plumbing_destroy);

/*
 * Adds what a file says: lines module:PATTERN, function:PATTERN, file:PATTERN, as plumbing.def
 * explains them, and comments that begin with '#'. origin: the file's name, for messages. Both are
 * copied. The error names a line that is none; then nothing of the text is added.
 */
struct err *plumbing_add(struct plumbing *plumbing, const char *origin, const char *text,
			 size_t size);

/*
 * Whether a frame is plumbing; the frame's own member of that name is not read. A frame without a
 * symbol is if its module is. plumbing NULL: by plumbing.def alone. Thread-safe.
 */
bool plumbing_has(const struct plumbing *plumbing, const struct named_frame *frame);

#endif
