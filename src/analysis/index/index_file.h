/*
 * The index file of a recording: all that was made of its events, blocks included, to be mapped the
 * next time. It is no part of the recording and may be deleted at any time; docs/index-file.md.
 *
 * It stands beside the recording, as its name with ".index", or among the user's caches where that
 * folder cannot be written to. It is believed only if it is the user's own, of this very recording
 * as it stands now, and whole: every checksum is compared, and every number that is used as an
 * index is in range. Else it is as if there were none.
 */
#ifndef MALLOW_ANALYSIS_INDEX_INDEX_FILE_H
#define MALLOW_ANALYSIS_INDEX_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/recording.h"

struct index_mapping {
	void *data; /* NULL: none */
	size_t size;
};

/*
 * For load.c: fills a recording of which header and chunks were read, as index_read(), and with its
 * blocks. An error is "no memory".
 */
struct err *index_file_read(struct recording *recording, bool *used);

void index_mapping_deinit(struct index_mapping *mapping);

/*
 * Writes one of a recording that was opened with its blocks. The old one is there, whole, until the
 * new one is. *ret: its path, the caller's (free()). Nothing is written, and *ret is NULL, where an
 * index could not be believed later on: the recording is still being written, or is damaged, or is
 * no file. Wrong frees are in it if the recording was opened with them.
 */
struct err *index_file_write(const struct recording *recording, char **ret);

/*
 * Who once asked for an index file keeps one: a recording that was opened with its blocks, and had
 * to be read because the user's own index file is not of it any more, gets a new one. Whether that
 * can be written or not, nothing is said: it is a cache.
 */
void index_file_renew(const struct recording *recording);

/*
 * Where it may be: the places that are tried, in their order. The caller's to free(); NULL: no such
 * place. make: for writing, so that missing folders are made.
 */
char *index_file_beside(const struct recording *recording);
char *index_file_cached(const struct recording *recording, bool make);

#endif
