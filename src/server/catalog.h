/*
 * The recordings that the server has: by id, or "last". Each is opened when it is asked for, and
 * kept while there is room; one that is still being written is opened anew when it has grown.
 * Nothing else on the disk is ever read. For several threads: who asks for a recording waits for
 * that one to be opened, and for no other.
 */
#ifndef MALLOW_SERVER_CATALOG_H
#define MALLOW_SERVER_CATALOG_H

#include <stdint.h>

#include "server/dataset.h"

struct catalog;

/* What /list says of a recording, besides what its facts and sums are. */
struct catalog_item {
	char id[33];
	const char *path;
	uint16_t machine; /* of its program: ELF's e_machine */
};

struct catalog_options {
	const char *const *debug_paths; /* where debug files are looked for, NULL-terminated */
	size_t max_open;                /* recordings; at least 1 */
	uint64_t max_memory;            /* bytes, as process_memory_own() says */
};

/* What options point to is borrowed. */
struct err *catalog_create(const struct catalog_options *options, struct catalog **ret);
/* Accepts NULL. No request may be under way. */
void catalog_destroy(struct catalog *catalog);

/*
 * A recording at the end of the list, unless its file is there. Of two with the same id the first
 * one is found. Only its header is read; an error where that is none.
 */
struct err *catalog_add(struct catalog *catalog, const char *path);

/* Called before the list is looked at, to add what is new. */
typedef void catalog_look(void *argument, struct catalog *catalog);
void catalog_watch(struct catalog *catalog, catalog_look *look, void *argument);

/* A recording by its id or "last"; NULL: there is none. One reference. */
struct err *catalog_find(struct catalog *catalog, const char *id, struct dataset **ret);

/*
 * Closes recordings while more are open, or more memory is taken, than options allow: those that
 * were asked for longest ago first, none that a request uses, and never the latest. To be called
 * when a request is over.
 */
void catalog_trim(struct catalog *catalog);

/* The text of a recording in a list, to be freed. */
typedef struct err *catalog_summary(const struct catalog_item *item,
				    const struct recording *recording, char **ret);

/*
 * Those of all recordings in their order, with commas between them; several are read at a time.
 * They are kept until a file changes. One that cannot be read any more is left out: it has nothing
 * to tell.
 */
struct err *catalog_summaries(struct catalog *catalog, catalog_summary *make, struct buf *buf);

#endif
