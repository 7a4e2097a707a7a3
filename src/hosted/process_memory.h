/* What the kernel says about the memory of a process, in bytes. */
#ifndef MALLOW_HOSTED_PROCESS_MEMORY_H
#define MALLOW_HOSTED_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct process_memory {
	uint64_t virtual_size, resident, shared; /* as /proc/PID/statm has them */
	/*
	 * What allocators take their memory from: [heap], and writable private mappings with
	 * neither file nor name. Stacks of threads are left out; a stack is known by the guard
	 * pages before it. Mappings that are neither reserved nor dumped (flags nr, dd) are left
	 * out: they are the profiler's. Of the profiler's memory only static data is included.
	 */
	bool heap_known;
	uint64_t heap_size, heap_resident;
};

/* false: there is no such process, or we may not read its files in /proc. */
bool process_memory_read(uint32_t pid, struct process_memory *ret);

/* How much resident memory of this process is in no file. 0: the kernel does not say. */
uint64_t process_memory_own(void);

#endif
