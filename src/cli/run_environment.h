/* The environment that `mallow run` gives to the program. */
#ifndef MALLOW_CLI_RUN_ENVIRONMENT_H
#define MALLOW_CLI_RUN_ENVIRONMENT_H

#include "cli/options.h"
#include "hosted/err.h"

struct run_environment {
	char **variables; /* NULL-terminated, as execve() takes it */
	char **made;      /* those of them that are ours to free, NULL-terminated */
};

/*
 * The tool's own environment with the library in front of LD_PRELOAD, the settings given as
 * options (options->values is indexed by enum setting), and where recordings are announced:
 * MALLOW_REGISTRY.
 */
struct err *run_environment_create(const struct options *options, const char *library,
				   const char *registry, struct run_environment *ret);
/* Accepts a zeroed struct. */
void run_environment_deinit(struct run_environment *environment);

#endif
