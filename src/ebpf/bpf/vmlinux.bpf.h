/*
 * The few kernel types that the BPF programs name, in place of a vmlinux.h of the build machine.
 * CO-RE finds their fields in the running kernel.
 */
#ifndef MALLOW_EBPF_BPF_VMLINUX_BPF_H
#define MALLOW_EBPF_BPF_VMLINUX_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

struct upid {
	int nr;
} __attribute__((preserve_access_index));

/* A process's numbers, one for each PID namespace from the first one inwards. */
struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them */
} __attribute__((preserve_access_index));

struct task_struct {
	int pid;
	int tgid;
	int exit_code; /* as wait() has it */
	struct pid *thread_pid;
	unsigned long sas_ss_sp, sas_ss_size; /* sigaltstack() */
} __attribute__((preserve_access_index));

#endif
