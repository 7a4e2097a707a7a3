/* What /proc says of a process that is recorded, as records. All are written to stream 0. */
#ifndef MALLOW_EBPF_RECORD_RECORD_FACTS_H
#define MALLOW_EBPF_RECORD_RECORD_FACTS_H

#include "ebpf/target/target.h"
#include "write/recording_file.h"

#define RECORD_NAME_SIZE 16 /* of a thread, with its NUL: as the kernel keeps it */

/* Program, arguments, directory, host, kernel, version. The environment may hold secrets. */
void record_facts_process(const struct target *target, struct recording_file *file);

/* How much memory the process uses now. Nothing if it has ended. */
void record_facts_memory(const struct target *target, uint64_t now_ns, struct recording_file *file);

/* The thread's name. false: it has ended. */
bool record_facts_thread_name(const struct target *target, uint32_t tid,
			      char ret[RECORD_NAME_SIZE]);

#endif
