/* What `mallow run` says on stderr when the program has ended, and finishing its recordings. */
#ifndef MALLOW_CLI_RUN_SUMMARY_H
#define MALLOW_CLI_RUN_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run_child.h"
#include "cli/run_registry.h"
#include "finish/finish.h"

struct run_finishing {
	bool wanted;
	enum finish_compress compress;
	bool started_later; /* --disable-by-default: no recording is no surprise */
	const char *output; /* --output as given, or NULL */
};

/*
 * registry: the recordings that were begun, read; end: of the program itself. Each recording is
 * loaded once, for its part of the summary and for being finished; one that is still being written
 * is left alone. Never fails: what cannot be shown or finished is said so.
 */
void run_summary_print(const char *program, const struct run_child_end *end,
		       const struct run_registry *registry, const struct run_finishing *finishing);

#endif
