/* What /proc says of a process, for finding what it wrote itself. */
#ifndef MALLOW_EBPF_TARGET_PROCESS_FACTS_H
#define MALLOW_EBPF_TARGET_PROCESS_FACTS_H

#include <stdint.h>
#include <sys/types.h>

struct process_facts {
	pid_t own_pid;      /* as it sees itself, in its PID namespace; 0: unknown */
	uid_t user;         /* its effective user; 0 also if unknown */
	int64_t started_ns; /* CLOCK_REALTIME, to a hundredth of a second; 0: unknown */
};

/* proc: /proc/PID, open. */
void process_facts_read(int proc, struct process_facts *ret);

#endif
