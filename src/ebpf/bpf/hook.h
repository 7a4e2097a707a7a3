/*
 * What a probe means, in 32 bits: the kernel hands this number ("cookie") to the BPF program each
 * time the probe is hit. Shared by the BPF program and its loader.
 *
 *	  31 … 29    28 … 24    23 … 20   19 … 16   15 … 12   11 … 8   7 … 4     3 … 0
 *	+---------+-----------+---------+---------+---------+--------+---------+-------+
 *	|alignment| operation |  where  | result  | pointer | times  |  size   |  act  |
 *	+---------+-----------+---------+---------+---------+--------+---------+-------+
 *
 * size, times, pointer and alignment are numbers of arguments, from 1 on; 0: there is none.
 * Example: calloc(count, size) is HOOK_ALLOC with size 2 and times 1, realloc(old, size) is
 * HOOK_REALLOC with pointer 1 and size 2. operation is what a recording calls the function.
 */
#ifndef MALLOW_EBPF_BPF_HOOK_H
#define MALLOW_EBPF_BPF_HOOK_H

#include "allocators/act.h"

enum hook_act {
	HOOK_ALLOC = ALLOCATOR_ALLOC,
	HOOK_REALLOC = ALLOCATOR_REALLOC,
	HOOK_FREE = ALLOCATOR_FREE,
	HOOK_MMAP = ALLOCATOR_MMAP,
	HOOK_MUNMAP = ALLOCATOR_MUNMAP,
	HOOK_MREMAP = ALLOCATOR_MREMAP,
	HOOK_CODE, /* libraries were mapped or unmapped: loader_state.h */
};

/* Where the block's address is when the function returns. */
enum hook_result {
	HOOK_RESULT_VALUE,  /* the value that is returned, 0 or -1: failed */
	HOOK_RESULT_MEMORY, /* posix_memalign: at the first argument, if 0 is returned */
};

/* Where in the function the probe stands. */
enum hook_where {
	HOOK_WHERE_ENTRY, /* at or near its first instruction; the return is probed by the kernel */
	HOOK_WHERE_ONLY,  /* the same, but nothing is probed when it returns */
	HOOK_WHERE_EXIT,  /* at an instruction that returns: rsp is the return address's place */
};

#define HOOK_COOKIE(act, size, times, pointer, result)                                             \
	((unsigned)(act) | (unsigned)(size) << 4 | (unsigned)(times) << 8 |                        \
	 (unsigned)(pointer) << 12 | (unsigned)(result) << 16)
#define HOOK_WHERE(where) ((unsigned)(where) << 20)
/* operation: enum trace_op; of an allocation, as if it had no block before. */
#define HOOK_OPERATION(operation, alignment)                                                       \
	((unsigned)(operation) << 24 | (unsigned)(alignment) << 29)

#define HOOK_ACT_OF(cookie)     ((cookie)&15u)
#define HOOK_SIZE_OF(cookie)    ((cookie) >> 4 & 15u)
#define HOOK_TIMES_OF(cookie)   ((cookie) >> 8 & 15u)
#define HOOK_POINTER_OF(cookie) ((cookie) >> 12 & 15u)
#define HOOK_RESULT_OF(cookie)  ((cookie) >> 16 & 15u)
#define HOOK_WHERE_OF(cookie)   ((cookie) >> 20 & 15u)

#define HOOK_OPERATION_OF(cookie) ((cookie) >> 24 & 31u)
#define HOOK_ALIGNMENT_OF(cookie) ((cookie) >> 29 & 7u)

#endif
