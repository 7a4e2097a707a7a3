/*
 * Fits function names into a width. A long C++ name loses its parameters first, then its template
 * arguments, then its return type; if it is still too long, its front is cut off.
 */
#ifndef MALLOW_REPORT_FRAME_NAME_H
#define MALLOW_REPORT_FRAME_NAME_H

#include "hosted/buf.h"

/* Writes name in at most width columns (0: whole). Control characters become U+FFFD. */
void frame_name_put(struct buf *buf, const char *name, size_t width);

/*
 * Writes the last width columns of a valid UTF-8 text, with an ellipsis before them if it is
 * longer.
 */
void frame_name_cut_front(struct buf *buf, const char *text, size_t width);

#endif
