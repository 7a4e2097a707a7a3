/* Reads lines of /proc/PID/maps: see proc(5). A pure function. */
#ifndef MALLOW_HOSTED_PROC_MAPS_H
#define MALLOW_HOSTED_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
