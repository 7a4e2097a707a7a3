/* What a recording cannot show: blocks in pools of the program's language, an allocator in it. */
#ifndef MALLOW_CLI_RUN_HINT_H
#define MALLOW_CLI_RUN_HINT_H

#include "cli/loaded.h"
#include "hosted/buf.h"
#include "report/style.h"

/*
 * Lines of the summary that say what is not seen: those of report/hidden.h, which reports have,
 * too, and what the program's file and the environment tell. Nothing where there is nothing to say.
 */
struct err *run_hint_put(struct buf *buf, const struct style *style, const struct loaded *loaded);

/*
 * What mallow cannot see, why, and what to do, in one line without its end: of an allocator that
 * was linked into the program (a file), and of a sanitizer that the user preloads. Nothing where
 * all is seen.
 */
void run_hint_allocator(struct buf *buf, const char *program);
void run_hint_preloads(struct buf *buf);

#endif
