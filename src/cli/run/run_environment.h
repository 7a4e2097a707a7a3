/* The agent, and the environment that `mallow run` gives to the program so that it is loaded. */
#ifndef MALLOW_CLI_RUN_RUN_ENVIRONMENT_H
#define MALLOW_CLI_RUN_RUN_ENVIRONMENT_H

#include "cli/options/options.h"
#include "hosted/err.h"

/*
 * Finds the agent, libmallow.so. *ret: its absolute path (free()): MALLOW_LIBRARY if that is set,
 * else beside the tool, else in the library directories of the tool's prefix. Where that path
 * cannot stand in LD_PRELOAD, a link to it in the cache folder. An error: it was not found, or
 * there is no place for the link.
 */
struct err *run_library_find(char **ret);

struct run_environment {
	char **variables; /* NULL-terminated, as execve() takes it */
	char **made;      /* the ones to be freed, NULL-terminated */
};

/*
 * Makes the program's environment: the tool's own, plus the library in LD_PRELOAD (base/preload.h
 * says where), the settings given as options (options->values is indexed by enum setting), and
 * MALLOW_REGISTRY, where recordings are announced (trace/registry.h).
 */
struct err *run_environment_create(const struct options *options, const char *library,
				   const char *registry, struct run_environment *ret);
/* Accepts a zeroed struct. */
void run_environment_deinit(struct run_environment *environment);

#endif
