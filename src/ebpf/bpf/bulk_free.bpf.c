/*
 * Frees of many objects at once: those by RCU, and of the network. They have no tracepoint but in
 * kernels with CONFIG_RCU_TRACE, and not all kernels let functions be traced. So this is an object
 * of its own, of which one program is loaded, or none. The tables are those of kernel.bpf.c.
 */
#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf/outstanding.bpf.h"

#include <bpf/bpf_tracing.h>

static long release_one(uint32_t index, const uint64_t *list)
{
	uint64_t address;
	struct block block;

	if (bpf_probe_read_kernel(&address, sizeof(address), (const void *)(*list + index * 8ull)))
		return 1;
	take_block(address, &block);
	return 0;
}

/* kmem_cache_free_bulk(cache, count, list) */
SEC("fentry/kmem_cache_free_bulk")
int BPF_PROG(on_bulk_free, void *cache, uint64_t count, uint64_t list)
{
	bpf_loop((uint32_t)count, release_one, &list, 0);
	return 0;
}

/* rcu_invoke_kfree_bulk_callback(name of the RCU, count, list) */
SEC("raw_tp/rcu_invoke_kfree_bulk_callback")
int on_rcu_free(const uint64_t *context)
{
	uint64_t list = context[2];

	bpf_loop((uint32_t)context[1], release_one, &list, 0);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
