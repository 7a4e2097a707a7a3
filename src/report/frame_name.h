/*
 * Function names in a given width. Long C++ names are folded before they are cut: parameters
 * first, then template arguments, then the return type, then the front.
 */
#ifndef MALLOW_REPORT_FRAME_NAME_H
#define MALLOW_REPORT_FRAME_NAME_H

#include "hosted/buf.h"

/* In at most width columns (0: as it is). Control characters become U+FFFD. */
void frame_name_put(struct buf *buf, const char *name, size_t width);

/* The last width columns of a valid UTF-8 text, an ellipsis in front if it is longer. */
void frame_name_cut_front(struct buf *buf, const char *text, size_t width);

#endif
