/*
 * A write that keeps the program waiting for 100 ms at most. A thread whose file system hangs
 * (frozen, FUSE, a network's) cannot be interrupted. So another process makes the write: it shares
 * our memory and descriptors, as in helper.c. The thread waits for that process.
 *
 *	thread    ── clone ──► waits ───────► goes on      in 100 ms: the memory is its own again
 *	process                fstat, pwritev, exit        later: the memory belongs to the write
 */
#ifndef MALLOW_AGENT_RECORD_TIMED_WRITE_H
#define MALLOW_AGENT_RECORD_TIMED_WRITE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/format.h"

struct timed_write {
	struct trace_chunk head; /* what is written: this, and then size - 64 bytes of rest */
	const void *rest;
	size_t size;
	uint64_t offset;
	int fd; /* must be this file */
	dev_t device;
	ino_t inode;
	long result;   /* as of pwritev(); -EBADF: fd is another file */
	uint32_t done; /* atomic */
	uint32_t used; /* atomic: by a caller that shares the struct with others */
	int pid;
	/*
	 * For the caller. next: links the list of late writes. chunk: the slot whose events this
	 * one holds. from: where in it the events begin that no earlier write had.
	 */
	struct timed_write *next;
	const struct trace_chunk *chunk;
	uint32_t from;
	char stack[4096] __attribute__((aligned(16)));
};

#define TIMED_WRITE_SIZE (2 * TRACE_PAGE) /* of memory for one, in pages */
static_assert(sizeof(struct timed_write) <= TIMED_WRITE_SIZE, "TIMED_WRITE_SIZE");

enum timed_result {
	TIMED_DONE, /* result says how it went */
	TIMED_LATE, /* nothing that it points to may be touched until it is done */
	TIMED_NONE, /* no process can be started */
};

/* In a signal bracket, while system calls are allowed. */
enum timed_result timed_write_run(struct timed_write *write);

/* Waits 100 ms more for one that was late. true: it is done, and its process is gone. */
bool timed_write_wait(struct timed_write *write);

/* Whether it is done. */
static inline bool timed_write_is_done(const struct timed_write *write)
{
	return __atomic_load_n(&write->done, __ATOMIC_ACQUIRE);
}

#endif
