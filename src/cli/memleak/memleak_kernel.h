/* `mallow memleak` without a process: the kernel's own memory, from attaching to the last report.
 */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_KERNEL_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_KERNEL_H

#include "cli/memleak/memleak_run.h"
#include "hosted/buf.h"

/*
 * Traces until all reports are printed, or a signal ends us; then a last report follows. Writes
 * reports to `out`, and what concerns the tracing to `notes` (the same, unless reports are JSON).
 * Returns the exit status.
 */
int memleak_kernel(const struct memleak_wanted *wanted, struct buf *out, struct buf *notes);

#endif
