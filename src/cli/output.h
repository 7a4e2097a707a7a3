/*
 * Where a command writes to: standard output, or the file of -o. The file gets its name only when
 * it is complete.
 */
#ifndef MALLOW_CLI_OUTPUT_H
#define MALLOW_CLI_OUTPUT_H

#include "hosted/buf.h"

struct output {
	struct buf buf;
	int fd;
	char *path;      /* NULL: standard output */
	char *temporary; /* NULL: written directly to path (a device, a pipe) */
};

/* path NULL or "-": standard output. */
struct err *output_open(const char *path, struct output *ret);

/*
 * Writes the rest and gives the file its name, unless err is set. Returns the first error; err is
 * owned.
 */
struct err *output_close(struct output *output, struct err *err);

#endif
