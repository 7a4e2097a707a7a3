/*
 * Where the agent's memory lies. Every mapping that the agent makes is made here: anonymous memory
 * and pages of the recording's file.
 *
 *     0x5555…  program, heap ->      | stretch of the agent |            <- mmap() of the program
 *                                    ^ random start, then one behind the other
 *
 * The stretch is one part of the address space, where neither the kernel nor a runtime that we know
 * of puts anything (arch/stretches.h). If the kernel chose the place, a mapping of ours could fill
 * a hole that the program has just made in its own memory: the program's next munmap() or MAP_FIXED
 * there would take our memory away. It could also lie below a stack of the program that grows by
 * MAP_GROWSDOWN, which then could grow no more.
 *
 * Each place is only asked for (MAP_FIXED_NOREPLACE): whatever lies there already stays. Nothing is
 * reserved, so RLIMIT_AS counts what is mapped. If the stretch is not to be had (under valgrind;
 * somebody else has filled it) the kernel chooses.
 *
 * Lock-free, any thread, any signal handler. A child goes on where its parent was.
 */
#ifndef MALLOW_AGENT_GROUND_OWN_PLACE_H
#define MALLOW_AGENT_GROUND_OWN_PLACE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Maps size bytes, readable and writable. flags, fd, offset: as for mmap(). NULL: no memory, or fd
 * is no such file.
 */
void *own_place_map(size_t size, int flags, int fd, uint64_t offset);

/* The same for private anonymous memory, which costs nothing until it is touched. */
void *own_place_map_memory(size_t size);

/* Maps a whole file for reading, shared. NULL: as above. */
void *own_place_map_file(size_t size, int fd);

/*
 * Maps pages that can be read and executed, no farther than OWN_PLACE_NEAR from an address, since
 * code there must reach it: the one mapping that is not in the stretch. fd: of a file whose pages
 * these are, private; -1: none. NULL: no place, or the kernel does not allow it.
 */
#define OWN_PLACE_NEAR (UINT64_C(1) << 30)
void *own_place_map_near(uint64_t address, size_t size, int fd, uint64_t offset);

/* Unmaps what own_place_map() returned, as a whole. */
void own_place_unmap(void *memory, size_t size);

#endif
