/*
 * Holds the files open that recorded programs have mapped as code and that may be gone, or be
 * others, when names are looked up: a program that extracts itself removes its files at its end.
 * Not those of the system, which are below /usr, /lib, ….
 */
#ifndef MALLOW_CLI_RECORDINGS_WATCHED_FILES_H
#define MALLOW_CLI_RECORDINGS_WATCHED_FILES_H

#include <stdint.h>
#include <sys/types.h>

#include "hosted/vec.h"
#include "symbols/symbolizer.h"

struct watched_file {
	char *path;             /* as the program names it */
	uint64_t device, inode; /* as /proc/PID/maps has them */
	int fd;
};

struct watched_files {
	VEC(struct watched_file) items;
	size_t most;
};

/* most: how many files are held at most. */
void watched_files_init(struct watched_files *files, size_t most);
void watched_files_deinit(struct watched_files *files);

/* Opens what the process has mapped and is not held yet. What cannot be opened is left out. */
void watched_files_look(struct watched_files *files, uint32_t pid);

/* Tells the symbolizer of those files whose path leads to no file, or to another one, now. */
struct err *watched_files_places(const struct watched_files *files, struct symbolizer *symbolizer);

#endif
