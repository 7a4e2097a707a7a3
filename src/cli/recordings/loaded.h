/*
 * Opens a recording for a command, with a progress bar. If it cannot be opened, an error is
 * printed.
 */
#ifndef MALLOW_CLI_RECORDINGS_LOADED_H
#define MALLOW_CLI_RECORDINGS_LOADED_H

#include "analysis/growing/growing.h"
#include "analysis/names/symbolized.h"
#include "finish/finish.h"

struct loaded {
	struct recording *recording;
	struct symbolized *symbolized; /* NULL: not asked for */
};

/*
 * naming: for any number of recordings, each of which borrows it; NULL: without names. false: an
 * error was printed.
 */
bool loaded_open(const char *path, const struct naming *naming, struct loaded *ret);
/* As loaded_open(), with what enum recording_needs says. */
bool loaded_open_needs(const char *path, unsigned int needs, const struct naming *naming,
		       struct loaded *ret);
/* As loaded_open(), with the blocks that a filter needs. */
bool loaded_open_filterable(const char *path, const struct naming *naming, struct loaded *ret);
/* As loaded_open(), with heap errors. */
bool loaded_open_errors(const char *path, const struct naming *naming, struct loaded *ret);
/* As loaded_open(), with blocks, facts and heap errors, without names: all that an index file has.
 */
bool loaded_open_blocks(const char *path, struct loaded *ret);
/*
 * As loaded_open(), with run facts: of a finished recording no event is read for them. Without
 * memory they are left out.
 */
bool loaded_open_facts(const char *path, const struct naming *naming, struct loaded *ret);
/* As loaded_open(), and the checksum of every chunk is compared. */
bool loaded_open_checked(const char *path, const struct naming *naming, struct loaded *ret);
/*
 * The same, with run facts, for loaded_finish(). ahead: what was loaded of it already, with
 * LOADED_TO_FINISH; it is closed. NULL: nothing was.
 */
bool loaded_open_to_finish(const char *path, struct growing *ahead, const struct naming *naming,
			   struct loaded *ret);
/* The same for an open file, which stays the caller's. name: for messages. */
bool loaded_open_descriptor(const char *name, int fd, const struct naming *naming,
			    struct loaded *ret);
#define LOADED_TO_FINISH (RECORDING_CHECKED | RECORDING_RUN_FACTS | RECORDING_CURVE)
/* Accepts a zeroed struct. */
void loaded_close(struct loaded *loaded);

/*
 * Finishes a loaded recording, with a progress bar. loaded: the recording at path with its names;
 * zeroed if finish_recording() wants none.
 */
struct err *loaded_finish(const char *path, struct loaded *loaded, enum finish_compress compress,
			  struct finish_result *ret);

#endif
