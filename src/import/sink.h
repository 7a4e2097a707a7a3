/*
 * Where the readers of foreign files put what they read: a recording that is being written
 * (src/write). A reader gives texts, modules and frames first, and then uses their numbers:
 *
 *	sink_text(sink, span, &symbol.raw_function);
 *	sink_named(sink, module, &symbol, 1, &frame);
 *	stack[depth++] = (struct record_frame){.id = frame};           outermost first
 *	sink_allocate(sink, address, size, stack, depth);              events …
 *	sink_sum(sink, stack, depth, &sum);                            … or sums
 *
 * One thread at a time. Errors of the file are kept until sink_end() returns them.
 */
#ifndef MALLOW_IMPORT_SINK_H
#define MALLOW_IMPORT_SINK_H

#include "hosted/cleanup.h"
#include "import/text.h"
#include "symbols/symbolizer.h"
#include "trace/format.h"
#include "write/recording_file.h"

#define SINK_DEPTH_MAX 4096 /* frames of a stack; of deeper ones the outermost are left out */

struct import_sink;

/* Begins a recording in an empty file, which the sink owns from now on, also on failure. */
struct err *sink_create(int fd, struct import_sink **ret);
/* Accepts NULL. */
void sink_destroy(struct import_sink *sink);
CLEANUP_DEFINE(struct import_sink *, sink_destroy);

/* The file that is read from now on, for messages. Borrowed. */
void sink_reads(struct import_sink *sink, const struct import_text *text);

/* What the file says of the program: its path; its command, whose words are the arguments; its pid.
 */
void sink_program(struct import_sink *sink, struct span path);
/* The path, if none is known so far: that of the first file that was loaded. */
void sink_guess_program(struct import_sink *sink, struct span path);
struct err *sink_command(struct import_sink *sink, struct span command);
void sink_pid(struct import_sink *sink, uint32_t pid);
/* When it started, CLOCK_REALTIME in nanoseconds. */
void sink_started(struct import_sink *sink, uint64_t realtime_ns);
/* It had begun before: frees of unknown blocks are no errors. */
void sink_begun_before(struct import_sink *sink);

/* *ret: the one copy of a text, with a NUL behind it. NULL if it is empty. */
struct err *sink_text(struct import_sink *sink, struct span text, const char **ret);

/*
 * A file that was loaded, and whose place is known. Its code has bare pcs (struct record_frame with
 * id 0), of which mallow finds the names. The same place again, as in a second dump, is one file.
 */
struct sink_place {
	uint64_t bias; /* file address = pc - bias */
	uint64_t start, end;
	const uint8_t *build_id;
	size_t build_id_size;
};
struct err *sink_module(struct import_sink *sink, struct span path, const struct sink_place *place);
/* All of them are gone: others come. */
void sink_forget_modules(struct import_sink *sink);

/*
 * *ret: the number of a frame that has names: symbols, the innermost inlined function first, with
 * texts of sink_text(). Equal names in equal files are one frame. file: what holds the code, or
 * NULL.
 */
struct err *sink_named(struct import_sink *sink, const char *file, const struct symbol *symbols,
		       size_t count, uint32_t *ret);
/* *ret: the number of a frame of which only an address in that file, or in none, is known. */
struct err *sink_nameless(struct import_sink *sink, const char *file, uint64_t address,
			  uint32_t *ret);
/* *ret: the number of a script's function, at that line of that file. */
struct err *sink_script(struct import_sink *sink, const char *function, const char *file,
			uint32_t line, uint32_t *ret);

/* What follows happened then: nanoseconds since the start. Time never goes back. */
void sink_time(struct import_sink *sink, uint64_t ns);
/* The same for sums, at a moment of their own: behind that of the sums before. */
void sink_time_next(struct import_sink *sink, uint64_t ns);
/* So many bytes were resident then. */
void sink_resident(struct import_sink *sink, uint64_t bytes);

/* A block begins, or ends. stack: outermost frame first. */
void sink_allocate(struct import_sink *sink, uint64_t address, uint64_t size,
		   const struct record_frame *stack, size_t frames);
void sink_free(struct import_sink *sink, uint64_t address);

/* What a profiler has of all blocks of one stack. */
struct sink_sum {
	uint64_t values[TRACE_SUMS];
	uint32_t known; /* a bit for each */
};

/*
 * Adds to the sums of a stack at the present time. stack: outermost frame first; NULL: they are not
 * divided by stacks. A file has the same sums for all its stacks.
 */
struct err *sink_sum(struct import_sink *sink, const struct record_frame *stack, size_t frames,
		     const struct sink_sum *sum);

/* Whether it got sums. */
bool sink_is_aggregate(const struct import_sink *sink);

/*
 * Ends the recording. origin: what it was made from, for people: "heaptrack 1.4". at_end: the file
 * reaches to the end of the program, so what has no free there was never freed.
 */
struct err *sink_end(struct import_sink *sink, const char *origin, bool at_end);

#endif
