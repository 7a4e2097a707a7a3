/*
 * A recording's frames with names: each frame is resolved once, when first asked for. A finished
 * recording carries the names; what it does not name, or nothing where it is damaged, comes from
 * the files on this machine. Belongs to one thread; strings live until symbolized_destroy().
 */
#ifndef MALLOW_ANALYSIS_NAMES_SYMBOLIZED_H
#define MALLOW_ANALYSIS_NAMES_SYMBOLIZED_H

#include "analysis/recording.h"
#include "symbols/symbolizer.h"

struct symbolized;

/* One line of a stack as a person reads it. */
struct named_frame {
	const char *function;     /* demangled; never NULL: "[libfoo.so]+0x1a2b" without a symbol */
	const char *raw_function; /* as in the symbol table; NULL without a symbol */
	const char *file;         /* NULL unknown */
	uint32_t line;            /* 0 unknown */
	const char *module;       /* full path; NULL: in no module */
	const char *module_name;  /* its last part; NULL: in no module */
	uint64_t address;         /* pc - 1: inside the calling instruction */
	uint64_t offset; /* of the pc from the start of its symbol, without one of its module */
	bool inlined;
	bool in_program; /* the module is the program itself */
	bool has_symbol;
};

/* All lines of a frame, innermost inlined function first. */
struct frame_lines {
	const struct named_frame *lines;
	size_t count; /* at least 1 */
};

/*
 * The recording must outlive it; so must the symbolizer, which may serve many recordings, one
 * after the other, and opens each file once for all of them. NULL: one of its own.
 */
struct err *symbolized_create(const struct recording *recording, struct symbolizer *symbolizer,
			      struct symbolized **ret);
void symbolized_destroy(struct symbolized *symbolized);

/*
 * For a recording all of whose frames have names already; lines: of each frame, they must outlive
 * it. symbolized_symbols() knows nothing of them.
 */
struct err *symbolized_create_named(const struct recording *recording,
				    const struct frame_lines *lines, struct symbolized **ret);

/*
 * Closes the files that were opened for names, unless more than so many frames have no name yet:
 * the others are named now. They are opened again if symbolized_symbols() needs them. The
 * symbolizer may serve no other recording.
 */
struct err *symbolized_settle(struct symbolized *symbolized, uint32_t most);

/* The recording that it was made for. */
const struct recording *symbolized_recording(const struct symbolized *symbolized);

/* The frame's lines, innermost inlined function first; *count >= 1. */
struct err *symbolized_frame(struct symbolized *symbolized, uint32_t frame,
			     const struct named_frame **ret, size_t *count);

/*
 * The same as it is found, nothing demangled; *count >= 1, one symbol of NULLs where nothing is
 * known. *ret is valid until the next call.
 */
struct err *symbolized_symbols(struct symbolized *symbolized, uint32_t frame,
			       const struct symbol **ret, size_t *count);

/*
 * What is wrong with the file that a module's names come from (symbol_module_note()), as far as it
 * is known from the frames asked for; NULL: nothing, or no file was looked at.
 */
const char *symbolized_note(const struct symbolized *symbolized, uint32_t module);

/* Path of a module's file: its own, or the program's where the recording has none for it. */
const char *symbolized_path(const struct symbolized *symbolized,
			    const struct recorded_module *module);

#endif
