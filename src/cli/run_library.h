/* Where the agent, libmallow.so, is. */
#ifndef MALLOW_CLI_RUN_LIBRARY_H
#define MALLOW_CLI_RUN_LIBRARY_H

#include "hosted/err.h"

/*
 * Its absolute path (free()): MALLOW_LIBRARY if that is set, else beside the tool, else in the
 * library directories of the prefix that the tool is installed in. The path is one that
 * LD_PRELOAD can carry.
 */
struct err *run_library_find(char **ret);

#endif
