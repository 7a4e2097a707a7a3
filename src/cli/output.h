/*
 * Where a command writes to: standard output, or the file of -o, which appears under its name
 * only when it is complete.
 */
#ifndef MALLOW_CLI_OUTPUT_H
#define MALLOW_CLI_OUTPUT_H

#include "hosted/buf.h"

struct output {
	struct buf buf;
	int fd;
	char *path;      /* NULL: standard output */
	char *temporary; /* NULL: path is written directly (a device, a pipe) */
};

/* path NULL or "-": standard output. */
struct err *output_open(const char *path, struct output *ret);

/* Writes the rest and puts the file in its place, unless err is set; returns the first error. */
struct err *output_close(struct output *output, struct err *err);

#endif
