/* The tables of the programs that trace a process; bpf_shared.h draws them. */
#ifndef MALLOW_EBPF_BPF_MAPS_BPF_H
#define MALLOW_EBPF_BPF_MAPS_BPF_H

#include "cfi/unwind_rule.h"
#include "ebpf/bpf/outstanding.bpf.h"

/* What a thread is doing, and where its stack is put together. */
struct thread {
	/*
	 * The outermost call of an allocator's function that has not returned; sp 0: none. sp is
	 * that of its entry: where the return address is, if no register has it.
	 */
	uint64_t sp;
	uint64_t return_address; /* of a call whose end may not be seen, else 0 */
	uint64_t size;
	uint64_t pointer;
	uint32_t cookie;
	uint32_t wanted; /* its block is to be recorded */
	/* realloc took the old block out of the table; it comes back if realloc fails. */
	uint32_t took_old;
	struct block old;
	/* With settings.record. */
	uint64_t began_ns, alignment;
	uint64_t arguments[6]; /* of mmap and mremap */
	uint32_t generation;   /* of the libraries, when the last stack was taken */
	/* walk_thread(): where it stops, and what it found. zero is never written. */
	uint64_t zero;
	uint64_t walk_until;  /* at a frame with this sp or a higher one */
	uint64_t walk_sp;     /* of the frame that it came to … */
	uint64_t walk_pc;     /* … and its pc */
	uint64_t walk_hash;   /* of the frames */
	uint32_t walk_frames; /* how many */
	uint32_t walk_end;    /* enum stack_end */
	uint64_t frames[STACK_FRAMES_MAX];
};

/*
 * The process (upper half) and the thread that run, by their numbers in the loader's PID namespace;
 * those of others by their numbers in the first one.
 */
static __always_inline uint64_t current_ids(void)
{
	struct bpf_pidns_info ids;

	if (settings.pid_ns_inode &&
	    !bpf_get_ns_current_pid_tgid(settings.pid_ns_device, settings.pid_ns_inode, &ids,
					 sizeof(ids)))
		return (uint64_t)ids.tgid << 32 | ids.pid;
	return bpf_get_current_pid_tgid();
}

/* A task storage, and no table by CPU: a probe may be preempted by another thread's. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} rows_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RULE_PLAIN); /* wide rules have the numbers below */
	__type(key, uint32_t);
	__type(value, struct unwind_rule);
} rules_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, uint32_t);
	__type(value, struct bpf_spans);
} spans_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RULE_CACHE_SIZE);
	__type(key, uint32_t);
	__type(value, uint64_t);
} rule_cache SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} events SEC(".maps");

#endif
