/* What `mallow run` says on stderr when the program has ended. */
#ifndef MALLOW_CLI_RUN_SUMMARY_H
#define MALLOW_CLI_RUN_SUMMARY_H

#include <stddef.h>

/* paths: the recordings that were begun. Never fails: what cannot be shown is said so. */
void run_summary_print(const char *program, char **paths, size_t count);

#endif
