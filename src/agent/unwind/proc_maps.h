/*
 * Reading /proc/self/maps with raw system calls and a small buffer: no memory, no lock. For slow
 * paths only: a read takes microseconds or more.
 */
#ifndef MALLOW_AGENT_UNWIND_PROC_MAPS_H
#define MALLOW_AGENT_UNWIND_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_mapping {
	uint64_t start, end;
	uint64_t offset;
	uint64_t inode;
	bool readable, writable, executable;
};

struct proc_maps {
	int fd;
	unsigned position, filled;
	bool in_line; /* the path of the last mapping has not been read */
	char buffer[512];
};

/* False: there is no /proc, or system calls are forbidden. */
bool proc_maps_open(struct proc_maps *maps);
void proc_maps_close(struct proc_maps *maps);

/* The next mapping, in the order of addresses; false at the end. */
bool proc_maps_next(struct proc_maps *maps, struct proc_mapping *ret);

/*
 * The path of the mapping that proc_maps_next() gave last, as the kernel spells it, with a final 0.
 * "": it has none, or room bytes are too few. At most once for each mapping.
 */
void proc_maps_path(struct proc_maps *maps, char *path, size_t room);

/* The mapping that holds the address. */
bool proc_maps_find(uint64_t address, struct proc_mapping *ret);

/* From now on, no more system calls (a seccomp filter may kill us for one). */
void proc_maps_forbid(bool forbidden);

#endif
