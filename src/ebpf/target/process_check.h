/* Whether a process can be traced, as far as /proc tells. */
#ifndef MALLOW_EBPF_TARGET_PROCESS_CHECK_H
#define MALLOW_EBPF_TARGET_PROCESS_CHECK_H

#include <sys/types.h>

#include "ebpf/target/target.h"
#include "hosted/err.h"

/*
 * Opens /proc/PID as *ret_proc and copies the path of the program to *ret_program; the caller
 * closes and frees them. An error says what is wrong with the process, as target_open() promises.
 */
struct err *process_check(pid_t pid, int *ret_proc, char **ret_program,
			  struct process_facts *ret_facts);

#endif
