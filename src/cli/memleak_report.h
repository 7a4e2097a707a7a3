/* One report of `mallow memleak`: reads a tracer, finds names, writes text or JSON. */
#ifndef MALLOW_CLI_MEMLEAK_REPORT_H
#define MALLOW_CLI_MEMLEAK_REPORT_H

#include "cli/memleak_trace.h"
#include "ebpf/code_names.h"

/* process: what the report calls it; NULL: it is the only one. */
struct err *memleak_report(const struct memleak_wanted *wanted, struct tracer *tracer,
			   struct code_names *names, const char *process, struct buf *out);

#endif
