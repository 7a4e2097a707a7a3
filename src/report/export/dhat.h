/*
 * The sums of a recording as a file of DHAT, version 2, which valgrind's dh_view.html opens in a
 * browser: for each stack ("program point") what was allocated in all and how long it lived, what
 * was live at the most it had by itself, at the global peak, and at the end.
 */
#ifndef MALLOW_REPORT_EXPORT_DHAT_H
#define MALLOW_REPORT_EXPORT_DHAT_H

#include "report/export/export_format.h"

/*
 * Without events, as of merged recordings or a live table, lifetimes (tl) are left out, and how
 * many blocks a stack had at its own peak (mbk) is null.
 */
struct err *dhat_write(struct buf *buf, const struct export_subject *subject);

#endif
