/*
 * The names of a recording's frames. A frame is looked up once, when it is first asked for. A
 * finished recording has the names; those that it lacks, or all if they are damaged, come from
 * files on this machine. Belongs to one thread. Strings live until symbolized_destroy().
 */
#ifndef MALLOW_ANALYSIS_NAMES_SYMBOLIZED_H
#define MALLOW_ANALYSIS_NAMES_SYMBOLIZED_H

#include <string.h>

#include "analysis/names/plumbing.h"
#include "analysis/recording.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "symbols/symbolizer.h"

struct symbolized;
struct addr2line;

/*
 * How the frames of recordings get their names, and which of them are the reader's own code. All
 * members are borrowed. They may serve many recordings, one after the other.
 */
struct naming {
	struct symbolizer *symbolizer;   /* NULL: each recording makes one of its own */
	const struct plumbing *plumbing; /* NULL: that of plumbing.def alone */
	/* The file to read for the program itself; NULL: the one that it ran from. */
	const char *program;
	struct addr2line *addr2line; /* has the program's names; NULL: its file has them */
	bool stored;                 /* only names that the recording has: no file is read */
};

/* One line of a stack, as people read it. */
struct named_frame {
	const char *function;     /* demangled; without a symbol "[libfoo.so]+0x1a2b", never NULL */
	const char *raw_function; /* mangled, without a version; NULL: no symbol */
	const char *file;         /* NULL unknown */
	uint32_t line;            /* 0 unknown */
	const char *module;       /* full path; NULL: in no module */
	const char *module_name;  /* its last part, of a script script_files.h's; NULL: in none */
	uint64_t address;         /* pc - 1: within the calling instruction; of a script a hash */
	uint64_t offset; /* of the pc from the start of its symbol; without one, of its module */
	bool inlined;
	bool in_program;     /* the module is the program itself */
	bool script;         /* of an interpreted language: the module is its source file */
	bool import;         /* a script's import statement; its function is "import NAME" */
	bool beside_scripts; /* native, in a recording that has frames of scripts */
	bool has_symbol;
	bool plumbing; /* not the reader's own code: plumbing.h */
	/* A demangler made the name before it was imported: raw_function is the same. */
	bool imported;
};

/*
 * Whether a demangler made the name. Other names have no types in them, and may have blanks
 * (those of code that was made at run time).
 */
static inline bool named_frame_is_demangled(const struct named_frame *frame)
{
	return frame->raw_function &&
	       (frame->imported || strcmp(frame->raw_function, frame->function) != 0);
}

/* Whether it is the reader's own code, and has a name. */
static inline bool named_frame_is_own(const struct named_frame *frame)
{
	return frame->has_symbol && !frame->plumbing;
}

/* Whether this is Rust's code that calls the program's main. */
static inline bool named_frame_is_rust_start(const struct named_frame *frame)
{
	return strncmp(frame->function, "std::rt::lang_start", 19) == 0;
}

/* Whether this calls what is main elsewhere: a script's file does so itself. */
static inline bool named_frame_is_start(const struct named_frame *frame)
{
	static const char *const files[] = {"<module>", "{main}", "<main>", "<top (required)>"};

	for (size_t i = 0; frame->script && i < sizeof(files) / sizeof(*files); i++)
		if (strcmp(frame->function, files[i]) == 0)
			return true;
	return !frame->script && named_frame_is_rust_start(frame);
}

/* The name of a frame's source file, which is known: without folders, or as script_files.h says. */
static inline const char *named_frame_file_name(const struct named_frame *frame)
{
	return frame->script ? frame->module_name : file_name(frame->file);
}

/*
 * Whether it is the interpreter of the scripts in the recording. It stands between each two of
 * their functions, and says nothing of what they do.
 */
static inline bool named_frame_is_interpreter(const struct named_frame *frame)
{
	static const char *const names[] = {"python", "libpython", "php",
					    "libphp", "ruby",      "libruby"};

	for (size_t i = 0; frame->beside_scripts && i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(frame->module_name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * All lines of a frame, the innermost inlined function first. A script's import statement is a line
 * of its own, and `inlined` in the function that it stands in (script_facts.h):
 *
 *	innermost   import pandas     app.py:3
 *	outermost   <module>          app.py:3
 */
struct frame_lines {
	const struct named_frame *lines;
	size_t count; /* at least 1 */
};

/*
 * recording, and what naming has, must outlive it. naming NULL: as if all its members were NULL. A
 * symbolizer opens each file once for all recordings that it serves.
 */
struct err *symbolized_create(const struct recording *recording, const struct naming *naming,
			      struct symbolized **ret);
void symbolized_destroy(struct symbolized *symbolized);
CLEANUP_DEFINE(struct symbolized *, symbolized_destroy);

/*
 * For a recording whose frames all have names already. lines: of each frame; they must outlive it.
 * symbolized_symbols() does not know them.
 */
struct err *symbolized_create_named(const struct recording *recording,
				    const struct frame_lines *lines, struct symbolized **ret);

/*
 * If at most `most` frames have no names yet: names them, and closes the files that were opened for
 * names. If more: does nothing. The files are opened again if symbolized_symbols() needs them. Call
 * it only if the symbolizer serves no other recording.
 */
struct err *symbolized_settle(struct symbolized *symbolized, uint32_t most);

/*
 * Names all frames, and takes paths out of the names, as anonymous.h says. From then on it needs
 * no module's path: recording_anonymize() may take them.
 */
struct err *symbolized_anonymize(struct symbolized *symbolized);

/* The recording that it was made for. */
const struct recording *symbolized_recording(const struct symbolized *symbolized);

/* *ret: the lines of a frame, the innermost inlined function first; *count >= 1. */
struct err *symbolized_frame(struct symbolized *symbolized, uint32_t frame,
			     const struct named_frame **ret, size_t *count);

/*
 * The same without demangling. *count >= 1; if nothing is known, one symbol of NULLs. *ret is valid
 * until the next call.
 */
struct err *symbolized_symbols(struct symbolized *symbolized, uint32_t frame,
			       const struct symbol **ret, size_t *count);

/*
 * What is wrong with the file that a module's names come from (symbol_module_note()). If the names
 * are the recording's own: what the recording says. Else: what was noticed while frames were looked
 * up so far. NULL: nothing, or no file was read.
 */
const char *symbolized_note(const struct symbolized *symbolized, uint32_t module);

/* The path of a module's file. If the recording has none, the program's. */
const char *symbolized_path(const struct symbolized *symbolized,
			    const struct recorded_module *module);

#endif
