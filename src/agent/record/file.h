/*
 * The recording's file: its name, its descriptor among the program's, and appending to it.
 *
 * The descriptor is kept high and close-on-exec. The program may close it behind our back, so
 * before each append fstat() must show the remembered file; else it is opened again by its path
 * and compared; else appending fails for good: never a byte into somebody else's file.
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
#include "trace/format.h"

/* Lives in the process's wiped-on-fork memory: zero means no file. */
struct file {
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t end;           /* where the next chunk goes; atomic */
	bool header_private;    /* to be written by file_write_header() */
	bool in_memory;         /* MODE=live: it has no name but for people */
	char *window;           /* seccomp: appends go here, without system calls; or NULL */
	uint64_t window_offset; /* of window in the file */
	uint64_t window_size;
	uint64_t window_behind; /* where the file ended when the window was opened */
	char path[FILE_NAME_MAX];
};

/* What file operations report; the caller counts the loss and says so. */
enum file_result {
	FILE_OK,
	FILE_WRITE_FAILED,
	FILE_REPLACED,
	FILE_WINDOW_FULL,
	FILE_LIMIT, /* MAX_FILE_SIZE */
};

/*
 * Creates the recording named by the settings, O_EXCL and 0600, parent directories included; an
 * existing name gets .N. A later image of the same run (child) gets NAME.<pid>.<n> where the
 * pattern has no %p. Returns 0 or the negative error number; file->path is then what was tried.
 * -EMEDIUMTYPE: the name exists, and is no regular file (a device, a FIFO, a directory).
 *
 * MODE=live: a file in memory instead, which nobody can make smaller.
 */
int file_create(struct file *file, bool later_image);

/* Created, but of no use: closes and removes it. */
void file_discard(struct file *file);

/* process->header: the page, mapped shared where wanted and possible. 0 or the negative error
 * number. */
int file_map_header(struct file *file, bool shared);

/* Private header: to the file. */
void file_write_header(struct file *file);

/*
 * Space for a slot at the end of the file: mapped shared, zeroed. *offset is its place. NULL: the
 * file cannot hold it (*result says why), or, with FILE_OK, there is no address space for it now.
 */
void *file_map_slot(struct file *file, size_t size, uint64_t *offset, enum file_result *result);

/*
 * The same of a file in memory, which gets its pages when they are touched. Mapped in children,
 * too. NULL: it cannot.
 */
void *file_map_sparse(struct file *file, size_t size);

/*
 * Appends a sealed chunk, given as its header (64 bytes) and the rest behind it. size is a
 * multiple of TRACE_PAGE and the sum of both.
 */
enum file_result file_append(struct file *file, const void *head, const void *rest, size_t size);

/*
 * Prepares for a time without system calls: maps size bytes at the end of the file, into which
 * file_append() and file_map_slot() go from now on. false: not possible.
 */
bool file_open_window(struct file *file, size_t size);

/* The system calls are allowed after all: appends go to the file again, behind the window. */
void file_close_window(struct file *file);

/*
 * Whether the descriptor shows the recording still: a program may have closed it by a raw system
 * call, and taken its number. If not, the file is opened again where it can be.
 */
bool file_keep_descriptor(struct file *file);

/* Moves the descriptor elsewhere because the program wants its number. false: it could not. */
bool file_move_descriptor(struct file *file);

#endif
