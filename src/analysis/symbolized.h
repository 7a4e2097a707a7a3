/*
 * A recording's frames with names: each frame is resolved once, when first asked for. Belongs to
 * one thread; strings live until symbolized_destroy().
 */
#ifndef MALLOW_ANALYSIS_SYMBOLIZED_H
#define MALLOW_ANALYSIS_SYMBOLIZED_H

#include "analysis/recording.h"
#include "symbols/symbolizer.h"

struct symbolized;

/* The recording must outlive it. */
struct err *symbolized_create(const struct recording *recording, struct symbolized **ret);
void symbolized_destroy(struct symbolized *symbolized);

/* One line of a stack as a person reads it. */
struct named_frame {
	const char *function;    /* demangled; never NULL: "[libfoo.so]+0x1a2b" without a symbol */
	const char *file;        /* NULL unknown */
	uint32_t line;           /* 0 unknown */
	const char *module;      /* full path; NULL: in no module */
	const char *module_name; /* its last part; NULL: in no module */
	uint64_t address;        /* pc - 1: inside the calling instruction */
	bool inlined;
	bool in_program; /* the module is the program itself */
	bool has_symbol;
};

/* The frame's lines, innermost inlined function first; *count >= 1. */
struct err *symbolized_frame(struct symbolized *symbolized, uint32_t frame,
			     const struct named_frame **ret, size_t *count);

#endif
