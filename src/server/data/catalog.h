/*
 * The recordings that the server serves, by id or "last". A request cannot make it read any other
 * file as a recording. A recording is opened when it is asked for, and stays open while there is
 * room. One that is still being written is read on when it has grown. For several threads: a
 * request waits only for the recording that it asks for.
 */
#ifndef MALLOW_SERVER_DATA_CATALOG_H
#define MALLOW_SERVER_DATA_CATALOG_H

#include <stdint.h>

#include "server/data/dataset.h"
#include "server/data/profile_source.h"
#include "server/data/source_file.h"

struct catalog;

/* Behind the id of a recording: all of its run, as one. */
#define CATALOG_FAMILY ".all"

/* What /list says about a recording besides its facts and sums. */
struct catalog_item {
	char id[33];
	const char *path;
};

struct catalog_options {
	const char *const *debug_paths; /* where to look for debug files; NULL ends the list */
	size_t max_open;                /* how many recordings may be open; at least 1 */
	uint64_t max_memory;            /* bytes, measured by process_memory_own() */
	struct source_options sources;
	bool still;     /* a recording is read once, also one that is being written */
	bool anonymous; /* answers are without what anonymous.h takes out */
	/* What /debug/pprof and /metrics are of; NULL: the last recording. Borrowed. */
	const struct profile_source *profiles;
};

/* The paths are borrowed. */
struct err *catalog_create(const struct catalog_options *options, struct catalog **ret);
/* Accepts NULL. No request may be under way. */
void catalog_destroy(struct catalog *catalog);
CLEANUP_DEFINE(struct catalog *, catalog_destroy);

/* What it was created with; as long as the catalog. */
const struct catalog_options *catalog_options(const struct catalog *catalog);

/*
 * Adds a recording at the end of the list, unless its file is in the list already. If two
 * recordings have the same id, the first is found. Only the header is read now. An error: the file
 * has no valid header.
 */
struct err *catalog_add(struct catalog *catalog, const char *path);

/* Called before the list is searched, so that it can add new recordings. */
typedef void catalog_look(void *argument, struct catalog *catalog);
void catalog_watch(struct catalog *catalog, catalog_look *look, void *argument);

/*
 * Tells of each recording that is being read how much of it is: done of total, in any unit. tell
 * must not call the catalog.
 */
typedef void catalog_reading(void *argument, const char *id, uint64_t done, uint64_t total);
void catalog_readings(struct catalog *catalog, catalog_reading *tell, void *argument);

/* How many recordings there are now, new ones of directories included. */
size_t catalog_count(struct catalog *catalog);

/*
 * At most so many clients follow events, as each keeps a connection. catalog_listen() counts one
 * more; false: there are too many. Each that was counted ends with catalog_unlisten().
 */
#define CATALOG_LISTENERS 64
bool catalog_listen(struct catalog *catalog);
void catalog_unlisten(struct catalog *catalog);

/*
 * *ret: the recording of that id, or the last one for "last", with a reference for the caller;
 * NULL: there is none. With ".all" behind an id: the recordings of all processes of its run, as one
 * (analysis/merge/merge.h), which has sites and no blocks.
 */
struct err *catalog_find(struct catalog *catalog, const char *id, struct dataset **ret);

/*
 * *ret: the same recording by its index alone, without blocks, which takes milliseconds; the caller
 * closes it. NULL: there is none, or catalog_find() is the quicker way: it is open, or has no
 * index.
 */
struct err *catalog_find_index(struct catalog *catalog, const char *id, struct recording **ret);

/*
 * *ret: the two data sets on common stacks (pairs.h), the one after, with a reference for the
 * caller. Neither may be a live table. It takes as long as naming all their frames, the first time.
 */
struct err *catalog_pair(struct catalog *catalog, struct dataset *after, struct dataset *before,
			 struct dataset **ret);

/*
 * Closes recordings until no more are open, and no more memory is used, than options allow. Those
 * asked for longest ago go first. One that a request uses stays, and so does the latest one. To be
 * called at the end of a request.
 */
void catalog_trim(struct catalog *catalog);

/* Makes the text of a recording in a list. The caller of it owns *ret (free()). */
typedef struct err *catalog_summary(const struct catalog_item *item,
				    const struct recording *recording, char **ret);

/*
 * Appends the texts of all recordings in their order, with commas between them; only: of that id
 * alone, or the last one for "last"; NULL: of all. Several recordings
 * are read at a time. A text is kept until its file changes. A recording that cannot be read is
 * left out.
 */
struct err *catalog_summaries(struct catalog *catalog, const char *only, catalog_summary *make,
			      struct buf *buf);

#endif
