/* Whether this machine lets us load BPF programs, and if not, why. */
#ifndef MALLOW_EBPF_BPF_SUPPORT_H
#define MALLOW_EBPF_BPF_SUPPORT_H

#include <bpf/libbpf.h>

#include "hosted/err.h"

/*
 * Looks at what tracing processes needs before anything is loaded: capabilities, the kernel's own
 * types (BTF), and lockdown. The error names what is missing and what to do.
 */
struct err *bpf_support_check(void);
/* The same for tracing the kernel's own memory, which needs other capabilities. */
struct err *bpf_support_check_kernel(void);

/*
 * Loads the programs of an opened skeleton. The error holds what libbpf or the kernel's verifier
 * said. libbpf's messages are kept off the terminal, for the whole process.
 */
struct err *bpf_support_load(struct bpf_object_skeleton *skeleton);

#endif
