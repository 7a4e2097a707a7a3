/*
 * `mallow memleak`: the processes that are traced, from attaching to the last report. One at first;
 * with --follow its children, too.
 */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_TRACE_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_TRACE_H

#include "cli/memleak/memleak_run.h"
#include "hosted/buf.h"

/*
 * Traces until the process ends, all reports are printed, or a signal ends us. Writes reports to
 * `out`, and what concerns the tracing to `notes` (the same, unless reports are JSON). Returns the
 * exit status.
 */
int memleak_trace(const struct memleak_wanted *wanted, struct buf *out, struct buf *notes);

#endif
