/*
 * The recording's file: its name, its descriptor, and appending to it.
 *
 * The program must not meet our descriptor by accident, so its number is high and it is
 * close-on-exec. The program may close it all the same, and get the number for a file of its own.
 * So before each append fstat() must show the remembered file. If it does not, the file is opened
 * again by its path and compared; if that fails, appending fails for good. No byte ever goes into
 * another file.
 *
 * STREAM_ONLY: the file is in memory. A process of the tool sends it to a receiver, and punches out
 * what has arrived. STREAM_BUFFER bounds what waits for that:
 *
 *   taken by the file = header and slots, which stay + sealed chunks that wait
 *
 * If no more may wait, the slots are not sealed: events are lost until the tool has made room. What
 * later events need, such as the definition of a frame, is written all the same (FILE_NEEDED).
 *
 * All functions are called with signals blocked (signal_bracket.h); any thread may append.
 */
#ifndef MALLOW_AGENT_RECORD_FILE_H
#define MALLOW_AGENT_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/ground/file_name.h"
#include "agent/record/timed_write.h"
#include "trace/format.h"

/* Lives in the process's wiped-on-fork memory: zero means no file. */
struct file {
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t end;        /* where the next chunk goes; atomic */
	bool header_private; /* a copy in memory, which file_write_header() writes */
	bool in_memory;      /* MODE=live, STREAM_ONLY: no path; its name is only shown */
	bool bounded;        /* STREAM_ONLY, by STREAM_BUFFER */
	bool cut;            /* atomic: file_cut.h. No slot is a mapping of the file any more … */
	bool header_cut;     /* … nor is the header */
	uint32_t cutting;    /* lock: only one thread does that */
	uint32_t changing;   /* atomic: threads that append, map or unmap slots: slot.c */
	bool full;           /* atomic: no more may wait, when somebody looked last … */
	uint64_t looked;     /* … which was at this clock_coarse(); atomic */
	uint64_t staying;    /* bytes of the header and of slots; atomic */
	struct timed_write *late; /* atomic: writes of private slots that are not done */
	char *window;             /* seccomp: the mapped part to append to; or NULL */
	uint64_t window_offset;   /* of window in the file */
	uint64_t window_size;
	uint64_t window_behind; /* where the file ended after the window was opened */
	char path[FILE_NAME_MAX];
};

/* What file operations return. The caller counts the loss and reports it. */
enum file_result {
	FILE_OK,
	FILE_WRITE_FAILED,
	FILE_REPLACED,
	FILE_WINDOW_FULL,
	FILE_LIMIT,    /* MAX_FILE_SIZE */
	FILE_FULL,     /* STREAM_BUFFER: not now; there may be room later */
	FILE_OVERFULL, /* twice STREAM_BUFFER */
	FILE_LATE,     /* the file system hangs: it may be written yet (timed_write.h) */
};

/* What is to be written. */
enum file_use {
	FILE_EVENTS,
	FILE_NEEDED, /* later events need it: for it, up to twice STREAM_BUFFER may wait */
};

/*
 * Creates the recording named by the settings, O_EXCL and 0600, parent directories included; an
 * existing name gets .N. A later image of the same run (child) gets NAME.<pid>.<n> where the
 * pattern has no %p. Returns 0 or the negative error number; file->path is then what was tried.
 * -EMEDIUMTYPE: the name exists, and is no regular file (a device, a FIFO, a directory).
 *
 * MODE=live, STREAM_ONLY: a file in memory instead, which nobody can make smaller: a store through
 * a mapping beyond the file's end would kill the program.
 */
int file_create(struct file *file, bool later_image);

/* Closes and removes a file that was created but cannot be used. */
void file_discard(struct file *file);

/*
 * Sets process->header to the file's first page: mapped shared if `shared` and if that is possible,
 * else a private copy. Returns 0 or the negative error number.
 */
int file_map_header(struct file *file, bool shared);

/* Writes a private header into the file. */
void file_write_header(struct file *file);

/*
 * Maps space for a slot at the end of the file, shared and zeroed. The caller owns the mapping.
 * *offset: where in the file it is. NULL: *result says why the file cannot hold it; FILE_OK: there
 * is no address space now.
 */
void *file_map_slot(struct file *file, size_t size, uint64_t *offset, enum file_result *result);

/*
 * The same for a file in memory. Its pages are allocated when they are touched. A forked child
 * keeps the mapping. *offset: where in the file it is. NULL: it could not be mapped.
 */
void *file_map_sparse(struct file *file, size_t size, uint64_t *offset);

/*
 * STREAM_ONLY: whether another size bytes of sealed chunks may wait. Threads that ask at once may
 * each be given the last room. FILE_OK in all other recordings.
 */
enum file_result file_ask_room(struct file *file, size_t size, enum file_use use);

/*
 * Whether no more may wait, and it is too early to ask again. Cheap: dropping an event costs
 * nothing but this and the count.
 */
bool file_is_still_full(const struct file *file);

/* A slot that was mapped here has become a sealed chunk. */
void file_slot_sealed(struct file *file, size_t size);

/*
 * Appends a sealed chunk: its header (64 bytes) and the rest. size is that of both together, a
 * multiple of arch_page(). write: memory for the write of a private slot, else NULL. After
 * FILE_LATE this memory, and all that it points to, must not be touched until the write is done.
 */
enum file_result file_append(struct file *file, const void *head, const void *rest, size_t size,
			     struct timed_write *write);

/*
 * Takes the list of late writes, once all of them are done. *ret: the first, or NULL. false: some
 * write is not done. Until all are done, nothing else is written, and the file counts as full.
 */
bool file_take_late(struct file *file, struct timed_write **ret);

/*
 * Prepares for a time without system calls: maps size bytes at the end of the file, into which
 * file_append() and file_map_slot() go from now on. false: not possible.
 */
bool file_open_window(struct file *file, size_t size);

/* System calls are allowed after all: appends go to the file again, after what the window holds. */
void file_close_window(struct file *file);

/*
 * Makes sure that the descriptor is the recording's: a program may have closed it by a raw system
 * call, and got its number for another file. Then opens the recording again. false: that is not
 * possible.
 */
bool file_keep_descriptor(struct file *file);

/* Gives the descriptor another number, because the program wants this one. false: it could not. */
bool file_move_descriptor(struct file *file);

#endif
