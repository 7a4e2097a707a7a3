/* One report of `mallow memleak` about the kernel's own memory. */
#ifndef MALLOW_CLI_MEMLEAK_MEMLEAK_KERNEL_REPORT_H
#define MALLOW_CLI_MEMLEAK_MEMLEAK_KERNEL_REPORT_H

#include "cli/memleak/memleak_run.h"
#include "ebpf/kernel/kernel_tracer.h"
#include "hosted/buf.h"

struct err *memleak_kernel_report(const struct memleak_wanted *wanted, struct kernel_tracer *tracer,
				  struct buf *out);

#endif
