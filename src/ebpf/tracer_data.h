/* Inside of a tracer: shared by the files that make, drive and read it. */
#ifndef MALLOW_EBPF_TRACER_DATA_H
#define MALLOW_EBPF_TRACER_DATA_H

#include "ebpf/bpf_map.h"
#include "ebpf/mapped_ranges.h"
#include "ebpf/probe_link.h"
#include "ebpf/tracer.h"
#include "ebpf/unwind/code_tables.h"

struct memleak_bpf;
struct ring_buffer;

struct tracer {
	struct tracer_options options;
	struct tracer_events events;
	struct target *target;
	struct hooks hooks;
	struct code_tables code;
	struct mapped_ranges mapped;
	enum probe_way way;

	struct memleak_bpf *bpf;
	struct probe_links links;
	struct ring_buffer *ring;
	struct shared_map stacks, rows, rule_cache;
	uint32_t row_count;   /* of the kernel's table */
	uint64_t stack_words; /* of the kernel's table */
	uint64_t quiet_until; /* see let_stacks_ask(); 0: not quiet */
	bool stopped;         /* no probes are set any more */
	uint32_t generation;  /* see tracer_generation() */
	uint32_t handled;     /* events, by this tracer_poll() */
	struct err *failure;  /* of an event's handler, until tracer_poll() returns it */
};

#endif
