/* What the kernel says about processes and their memory: proc(5). */
#ifndef MALLOW_HOSTED_PROC_H
#define MALLOW_HOSTED_PROC_H

#include <stdbool.h>
#include <stdint.h>

/* A line of /proc/PID/maps. */
struct proc_mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t device; /* as makedev() makes it */
	uint64_t inode;  /* 0: no file */
	bool executable;
	bool deleted; /* the file has no name any more */
	char *path;   /* in the line; without " (deleted)"; "": the mapping has no name */
};

/*
 * Reads a line, with or without a newline at its end. The line is changed: the path ends there, and
 * a newline in the path, which the kernel writes as \012, is a newline again. false: it is no such
 * line.
 */
bool proc_mapping_read(char *line, struct proc_mapping *ret);

/* Takes " (deleted)" off the end of a path that the kernel wrote. Returns whether it was there. */
bool proc_path_is_deleted(char *path);

/* What the kernel says about the memory of a process, in bytes. */
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

/*
 * When a process started: with its PID, this tells it from a later one with the same PID. Field 22
 * of /proc/PID/stat: ticks since the machine was started. 0: there is no such process, or
 * it has ended, and its parent has not taken its exit status yet.
 */
uint64_t process_start_time(uint32_t pid);

/*
 * How much memory may still be used without taking it from others, in bytes: what the kernel could
 * give without swapping (MemAvailable), or, if that is less, what is left up to the limit of this
 * process's control group (version 2) or one above it. UINT64_MAX: not known.
 */
uint64_t available_memory(void);

#endif
