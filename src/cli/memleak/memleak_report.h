/* One report of `mallow memleak`: reads a tracer, finds names, writes text or JSON. */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_REPORT_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_REPORT_H

#include "cli/memleak/memleak_trace.h"
#include "ebpf/code_names.h"

/* The process that a report is about. */
struct memleak_subject {
	struct tracer *tracer;
	struct code_names *names;
	pid_t pid;
	const char *name;
	const char *title; /* what the report calls it; NULL: it is the only one */
	bool ended;
	uint64_t older_ns; /* younger blocks are left out */
};

struct err *memleak_report(const struct memleak_wanted *wanted,
			   const struct memleak_subject *subject, struct buf *out);

#endif
