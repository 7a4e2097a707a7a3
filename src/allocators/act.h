/* What a function of an allocator does. Also for BPF programs. */
#ifndef MALLOW_ALLOCATORS_ACT_H
#define MALLOW_ALLOCATORS_ACT_H

enum allocator_act {
	ALLOCATOR_ALLOC = 1, /* returns a block of size (* times) bytes */
	ALLOCATOR_REALLOC,   /* frees pointer, unless it fails, and returns a block */
	ALLOCATOR_FREE,      /* frees pointer */
	ALLOCATOR_MMAP,      /* mmap(address, size, protection, flags, …) */
	ALLOCATOR_MUNMAP,    /* munmap(address, size) */
	ALLOCATOR_MREMAP,    /* mremap(address, old size, new size, …) */
};

#endif
