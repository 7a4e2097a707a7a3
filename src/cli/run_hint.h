/*
 * Says what a recording cannot show: blocks that Python or PHP keep in memory of their own, and
 * blocks of an allocator that is linked into the program.
 */
#ifndef MALLOW_CLI_RUN_HINT_H
#define MALLOW_CLI_RUN_HINT_H

#include "cli/loaded.h"
#include "hosted/buf.h"
#include "report/style.h"

/*
 * Writes lines of the summary: those of report/hidden.h, which reports have, too, and what the
 * program's file and the environment tell. Nothing if all is seen.
 */
struct err *run_hint_put(struct buf *buf, const struct style *style, const struct loaded *loaded);

/*
 * Each writes a line, without its newline: what mallow cannot see, why, and what to do. The first
 * is about an allocator linked into the program (a file), the second about a sanitizer that the
 * user preloads. Nothing if all is seen.
 */
void run_hint_allocator(struct buf *buf, const char *program);
void run_hint_preloads(struct buf *buf);

#endif
