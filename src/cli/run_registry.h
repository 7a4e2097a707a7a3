/*
 * How `mallow run` learns which recordings were made: a temporary file. Every image that begins a
 * recording appends the recording's absolute path and a NUL. An image that could not create its
 * recording prints why, and appends only a NUL.
 */
#ifndef MALLOW_CLI_RUN_REGISTRY_H
#define MALLOW_CLI_RUN_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/err.h"

struct run_registry {
	char *path;
	char **recordings; /* after run_registry_read(): in the order of their beginning */
	size_t count;
	bool refused; /* some image could not create its recording */
};

/* Makes the empty file. */
struct err *run_registry_create(struct run_registry *ret);
struct err *run_registry_read(struct run_registry *registry);
/* Removes the file and frees the rest. Accepts a zeroed struct. */
void run_registry_deinit(struct run_registry *registry);

#endif
