/* What a report of live allocations shows: chosen here, so that text, JSON and stacks agree. */
#ifndef MALLOW_REPORT_VIEWS_LIVE_VIEW_H
#define MALLOW_REPORT_VIEWS_LIVE_VIEW_H

#include "analysis/leaks/suppressions.h"
#include "analysis/live/live_facts.h"
#include "analysis/names/symbolized.h"
#include "hosted/arena.h"
#include "hosted/buf.h"
#include "hosted/proc.h"
#include "hosted/vec.h"
#include "report/views/stack_lines.h"

/*
 * The file of --ignore: which backtraces a live report leaves out. A line is looked for anywhere in
 * the printed frames of a backtrace; a line leak:PATTERN is one of LeakSanitizer's suppressions
 * (analysis/leaks/suppressions.h). Blank lines, and those that begin with '#', are comments.
 * Zeroed: nothing is ignored.
 */
struct live_ignore {
	struct arena arena;
	VEC(const char *) texts;
	struct suppressions *suppressions; /* NULL: none */
};

/* Adds the lines of a text. origin: where it comes from, for messages. Both are copied. */
struct err *live_ignore_add(struct live_ignore *ignore, const char *origin, const char *text,
			    size_t size);
void live_ignore_deinit(struct live_ignore *ignore);

/*
 * The backtraces of a live report as text: lines of frames, with their numbers and addresses.
 *
 *	0 [0x555d28884606] normalise  tour.cpp:24  (inlined)
 *	                   index_file +0x25d  tour.cpp:45
 *	1 [0x555d28884b22] main +0x83  tour.cpp:56
 *
 * What stands for the frames of a backtrace that has none:
 */
#define LIVE_FRAME_NO_STACK "(no stack)\n"

/*
 * Makes the lines of a backtrace that are printed into the empty *ret: at most depth. With
 * style->full, those of the innermost frames, at most depth of them: functions that were inlined
 * into a frame have lines of their own.
 */
struct err *live_frame_lines(const struct style *style, struct symbolized *symbolized,
			     uint32_t stack, uint32_t depth, struct stack_lines *ret);

/*
 * Writes a line and its newline. The frame's number and address are left out if the line before is
 * of the same frame. before NULL: it is the first.
 */
void live_frame_put(struct buf *buf, const struct style *style, const struct recording *recording,
		    const struct stack_line *line, const struct stack_line *before);

enum live_key {
	LIVE_BY_SIZE,
	LIVE_BY_COUNT,
	LIVE_KEY_COUNT,
};

struct live_view_options {
	enum live_key key;
	uint32_t top;                        /* backtraces shown at most, 0: all */
	uint32_t depth;                      /* lines of each that are printed */
	bool full;                           /* nothing is folded; depth counts frames */
	const struct live_ignore *ignore;    /* NULL: nothing is */
	const struct process_memory *memory; /* of the process, NULL: not known */
	const char *name;                    /* of the process */
};

struct live_view {
	struct live_view_options options;
	const struct recording *recording;
	struct symbolized *symbolized;
	uint32_t *order; /* indices of the sites shown, which have something live */
	uint32_t shown;
	uint32_t live;          /* how many sites could be shown, ignored ones left out */
	uint64_t ignored_sites; /* as far as they were looked at */
	uint64_t ignored_bytes;
};

/*
 * Makes the view. All arguments must outlive it, and recording_live() of the recording must not be
 * NULL.
 */
struct err *live_view_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct live_view_options *options, struct live_view *ret);
/* Accepts a zeroed struct. */
void live_view_deinit(struct live_view *view);

/* As typed: "size", "count". */
const char *live_key_name(enum live_key key);

/* The sites shown as collapsed stacks of their live bytes. */
struct err *live_view_collapsed(struct buf *buf, const struct live_view *view);

#endif
