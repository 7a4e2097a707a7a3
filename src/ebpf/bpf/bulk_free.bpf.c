/*
 * Frees of many objects at once, which have no tracepoint: those by RCU, and of the network. An
 * object of its own, since not all kernels let functions be traced; the tables are those of
 * kernel.bpf.c.
 */
#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf/outstanding.bpf.h"

#include <bpf/bpf_tracing.h>

struct objects {
	void **list;
};

static long release(uint32_t index, struct objects *objects)
{
	uint64_t address;
	struct block block;

	if (bpf_probe_read_kernel(&address, sizeof(address), &objects->list[index]))
		return 1;
	take_block(address, &block);
	return 0;
}

SEC("fentry/kmem_cache_free_bulk")
int BPF_PROG(on_bulk_free, void *cache, uint64_t count, void **list)
{
	struct objects objects = {list};

	bpf_loop((uint32_t)count, release, &objects, 0);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
