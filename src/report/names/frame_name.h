/*
 * Names of functions for people. Usually in their short form (short_name.h); two functions that
 * would read the same get longer forms. Names that are too long for their column lose template
 * arguments, then characters.
 */
#ifndef MALLOW_REPORT_NAMES_FRAME_NAME_H
#define MALLOW_REPORT_NAMES_FRAME_NAME_H

#include "analysis/names/symbolized.h"
#include "report/words/style.h"

/*
 * Writes the frame's function in at most width columns (0: any number). style->full: the whole
 * name. Control characters become U+FFFD.
 */
void frame_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame,
		    size_t width);

/* The same in lists of functions: of a script's with its file, "main  app.py". */
void frame_name_put_listed(struct buf *buf, const struct style *style,
			   const struct named_frame *frame, size_t width);

/*
 * Writes a path in at most width columns (0: any number), preferably its end, which tells most. Two
 * paths never read the same (style->names). Control characters become U+FFFD.
 */
void frame_name_put_path(struct buf *buf, const struct style *style, const char *path,
			 size_t width);

/*
 * Writes the last width columns of a valid UTF-8 text, with an ellipsis before them if it is
 * longer.
 */
void frame_name_cut_front(struct buf *buf, const char *text, size_t width);

/*
 * Writes a function as sentences name it, "Cache::put  leaky.cpp:10": the short name, or the whole
 * one with style->full; and the source without its folder, if it is known. Safe for terminals.
 */
void own_name_put(struct buf *buf, const struct style *style, const struct named_frame *frame);

/* Whether the name of a call says of which type: "std::make_shared<Session>". */
bool own_name_has_type(const struct named_frame *call);

/* The same without the source, with at most the first of each list of template arguments. */
void own_name_put_call(struct buf *buf, const struct style *style, const struct named_frame *call);

#endif
