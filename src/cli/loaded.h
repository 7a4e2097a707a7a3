/* A recording opened for a command: with a progress bar, and a line of text if it cannot be. */
#ifndef MALLOW_CLI_LOADED_H
#define MALLOW_CLI_LOADED_H

#include "analysis/names/symbolized.h"

struct loaded {
	struct recording *recording;
	struct symbolized *symbolized; /* NULL: not asked for */
};

/*
 * Names are looked up by a symbolizer, which may serve many recordings; NULL: without names. false:
 * the error was printed.
 */
bool loaded_open(const char *path, struct symbolizer *symbolizer, struct loaded *ret);
/* With blocks to choose from by a filter. */
bool loaded_open_filterable(const char *path, struct symbolizer *symbolizer, struct loaded *ret);
/* With heap errors. */
bool loaded_open_errors(const char *path, struct symbolizer *symbolizer, struct loaded *ret);
/* With blocks and heap errors, without names: all that an index file has. */
bool loaded_open_blocks(const char *path, struct loaded *ret);
/* With every chunk's checksum compared. */
bool loaded_open_checked(const char *path, struct symbolizer *symbolizer, struct loaded *ret);
/* Accepts a zeroed struct. */
void loaded_close(struct loaded *loaded);

#endif
