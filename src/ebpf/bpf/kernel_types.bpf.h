/* The types of the kernel's allocators, as far as the programs look into them. */
#ifndef MALLOW_EBPF_BPF_KERNEL_TYPES_BPF_H
#define MALLOW_EBPF_BPF_KERNEL_TYPES_BPF_H

#include "ebpf/bpf/vmlinux.bpf.h"

struct kmem_cache {
	unsigned int size; /* of an object, with what is around it */
	const char *name;
} __attribute__((preserve_access_index));

struct page {
	unsigned long flags;
} __attribute__((preserve_access_index));

/* The kernel's flags for allocations; these have been the same for ever. */
#define GFP_MOVABLE 0x08u

#endif
