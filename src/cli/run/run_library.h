/* Finds the agent, libmallow.so. */
#ifndef MALLOW_CLI_RUN_RUN_LIBRARY_H
#define MALLOW_CLI_RUN_RUN_LIBRARY_H

#include "hosted/err.h"

/*
 * *ret: its absolute path (free()): MALLOW_LIBRARY if that is set, else beside the tool, else in
 * the library directories of the tool's prefix. An error: it was not found, or its path cannot
 * stand in LD_PRELOAD.
 */
struct err *run_library_find(char **ret);

#endif
