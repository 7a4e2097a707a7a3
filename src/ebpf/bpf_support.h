/* Whether this machine lets us load BPF programs, and if not, why. */
#ifndef MALLOW_EBPF_BPF_SUPPORT_H
#define MALLOW_EBPF_BPF_SUPPORT_H

#include <bpf/libbpf.h>

#include "hosted/err.h"

/* The capabilities that a message names, for setcap. */
#define BPF_SUPPORT_CAPABILITIES "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore"

/*
 * Looks at what is needed before anything is loaded: capabilities, the kernel's own types (BTF),
 * and lockdown. The error names what is missing and what to do.
 */
struct err *bpf_support_check(void);

/*
 * Loads the programs of an opened skeleton. The error holds what libbpf or the kernel's verifier
 * said. libbpf's messages are kept off the terminal, for the whole process.
 */
struct err *bpf_support_load(struct bpf_object_skeleton *skeleton);

#endif
