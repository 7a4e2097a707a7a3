/*
 * The inside of the catalog:
 *
 *	catalog.c       its entries, and the data sets that are open
 *	catalog_list.c  what /list says of each
 *	catalog_file.c  whether a file is a recording, and whether it has changed
 *	catalog_family.c  the recordings of all processes of a run, as one
 */
#ifndef MALLOW_SERVER_DATA_CATALOG_DATA_H
#define MALLOW_SERVER_DATA_CATALOG_DATA_H

#include <pthread.h>
#include <sys/stat.h>

#include "hosted/vec.h"
#include "server/data/catalog.h"
#include "server/data/pairs.h"
#include "trace/chunk_check.h"

/* The state of a file when something was made from it. */
struct seen {
	struct stat status;
	uint64_t at_ns;
	bool writing; /* its content may change while its status does not */
};

/* A recording of a family, and its file when the family was made. */
struct member {
	const char *path; /* its entry's */
	struct seen seen;
};

/*
 * A recording of the list, or a family. Each lock is held while the file is read, which can take
 * seconds. So each entry has its own locks; and it has two, so that a list need not wait for a
 * recording that is being loaded. Nobody waits for one of them while holding the other, or the
 * catalog's lock.
 */
struct entry {
	struct catalog_item item; /* path is owned; the catalog's lock guards the id */
	char parent[33];          /* "": none; guarded like the id */
	pthread_mutex_t lock;     /* guards the next two */
	struct dataset *dataset;  /* NULL: not open */
	struct seen opened;
	pthread_mutex_t summary_lock; /* guards the next three */
	char *summary;                /* NULL: none is kept */
	struct seen summarized;
	struct growing *growing;  /* of the summary: the recording is being written; else NULL */
	const struct entry *root; /* of a family its first recording; else NULL */
	VEC(struct member)
	members; /* of a family that is open; these two are guarded like the data set */
	uint64_t read, to_read; /* atomic: how far its data set is read; 0: it is not being read */
	uint64_t looked_ns;     /* when it was looked at last whether others belong to it */
};

struct catalog {
	pthread_mutex_t lock; /* guards lists and ids; an entry stays until the end */
	VEC(struct entry *) entries;
	VEC(struct entry *) families; /* those that were asked for; not in lists */
	VEC(struct entry *) open;     /* those with a data set, the latest used first */
	pthread_mutex_t look_lock;    /* to be taken before `lock` */
	struct pairs pairs;
	struct catalog_options options;
	catalog_look *look;
	void *argument;
	int listeners; /* atomic */
};

/* catalog_file.c: an error says what the file is instead. */
struct err *catalog_read_header(const char *path, struct trace_header *ret);
/* *ret: the file's state now; the caller sets `writing`. */
struct err *catalog_see(const char *path, struct seen *ret);
/*
 * Whether the file has changed, so that what was made from it is to be made again. Not if the file
 * is gone.
 */
bool catalog_is_stale(const char *path, const struct seen *seen);

/* catalog.c: NULL: no memory. */
struct entry *catalog_entry_create(const char *path);
/* Accepts NULL. */
void catalog_entry_destroy(struct entry *entry);

/* catalog_family.c: the length of the recording's id in that of a family; 0: it is none. */
size_t catalog_family_suffix(const char *id);
/* *ret: the family of a recording; an entry like others, but for its opening. */
struct err *catalog_find_family(struct catalog *catalog, struct entry *member, struct entry **ret);
/* Both under the family's lock. */
bool catalog_family_is_stale(struct catalog *catalog, struct entry *family);
struct err *catalog_open_family(struct catalog *catalog, struct entry *family,
				struct dataset **ret);

/* catalog.c: lets catalog_watch()'s function add new recordings. */
void catalog_look_for_new(struct catalog *catalog);
/* Takes over the recording's id: the file may have become another recording. */
void catalog_adopt(struct catalog *catalog, struct entry *entry, const struct recording *recording);

#endif
