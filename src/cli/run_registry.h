/*
 * How `mallow run` learns which recordings came to be: a temporary file to which every image that
 * begins a recording appends one line, the recording's absolute path.
 */
#ifndef MALLOW_CLI_RUN_REGISTRY_H
#define MALLOW_CLI_RUN_REGISTRY_H

#include <stddef.h>

#include "hosted/err.h"

struct run_registry {
	char *path;
	char **recordings; /* after run_registry_read(): in the order in which they began */
	size_t count;
};

/* Makes the empty file. */
struct err *run_registry_create(struct run_registry *ret);
struct err *run_registry_read(struct run_registry *registry);
/* Removes the file too. Accepts a zeroed struct. */
void run_registry_deinit(struct run_registry *registry);

#endif
