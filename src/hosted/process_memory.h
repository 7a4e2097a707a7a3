/* What the kernel says of the memory of a process, in bytes. */
#ifndef MALLOW_HOSTED_PROCESS_MEMORY_H
#define MALLOW_HOSTED_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct process_memory {
	uint64_t virtual_size, resident, shared; /* as /proc/PID/statm has them */
	/*
	 * [heap] and mappings that can be written to and have neither file nor name, but for the
	 * stacks of threads, which are told by the guard in front of them: what allocators take
	 * their memory from. What is neither reserved nor dumped is not the program's: of the
	 * profiler's own only static data is among it.
	 */
	bool heap_known;
	uint64_t heap_size, heap_resident;
};

/* false: there is no such process, or it cannot be asked. */
bool process_memory_read(uint32_t pid, struct process_memory *ret);

/* What this process has in memory that no file has. 0: the kernel does not say. */
uint64_t process_memory_own(void);

#endif
