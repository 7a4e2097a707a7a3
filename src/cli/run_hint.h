/* What a recording cannot show because the program's language keeps its blocks in pools. */
#ifndef MALLOW_CLI_RUN_HINT_H
#define MALLOW_CLI_RUN_HINT_H

#include "cli/loaded.h"
#include "hosted/buf.h"

/* A line of the summary that points to --force-malloc, where that would show more; else nothing. */
void run_hint_put(struct buf *buf, const struct loaded *loaded);

#endif
