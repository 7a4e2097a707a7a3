/*
 * Finds where the kernel keeps its struct pages, and where it maps all memory: both are at random
 * places, and no symbol tells. The loader gets a page whose number it knows, and an object of
 * kmalloc() that is whole pages, while these programs look.
 */
#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf/kernel_types.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

const volatile uint32_t thread = 0;
const volatile uint32_t page_bytes = 0;
struct page_places places = {0};

SEC("raw_tp/mm_page_alloc")
int on_page(uint64_t *context)
{
	if ((uint32_t)bpf_get_current_pid_tgid() != thread)
		return 0;
	places.page = context[0];
	places.page_size = bpf_core_type_size(struct page);
	return 0;
}

SEC("raw_tp/kmalloc")
int on_object(uint64_t *context)
{
	if ((uint32_t)bpf_get_current_pid_tgid() != thread ||
	    (context[3] < 2 * page_bytes && context[4] < 2 * page_bytes))
		return 0;
	places.object = context[1];
	places.object_page = places.page;
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
