/*
 * The index file of a recording keeps everything that was made from its events, with the blocks.
 * When the recording is opened again, the index file is mapped, and no event is read. It is no part
 * of the recording, and may be deleted at any time. docs/index-file.md.
 *
 * It is beside the recording, with its name and ".index", or in the user's cache folder if the
 * recording's folder cannot be written to. It is used only if it is the user's own, belongs to
 * exactly this state of this recording, and is sound: every checksum is compared, and every number
 * that is used as an index is in range. If not, it is ignored.
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
 * For load.c: fills a recording whose header and chunks were read, as index_read() does, and its
 * blocks. *used false: there is no index file that can be used. The only error: no memory.
 */
struct err *index_file_read(struct recording *recording, bool *used);

void index_mapping_deinit(struct index_mapping *mapping);

/*
 * Writes the index file of a recording that was opened with its blocks. An old one is replaced in
 * one step. *ret: its path, owned by the caller (free()). *ret NULL: nothing was written, because
 * the file could not be used later: the recording is being written, is damaged, or is no file. Heap
 * errors are in it if the recording was opened with them.
 */
struct err *index_file_write(const struct recording *recording, char **ret);

/*
 * Writes the index file anew if the user has one that does not fit the recording any more.
 * recording: opened with its blocks. Failures are ignored: the file is a cache.
 */
void index_file_renew(const struct recording *recording);

/*
 * The paths at which an index file may be, in the order in which they are tried; owned by the
 * caller (free()). NULL: there is no such place. make: create missing folders, for writing.
 */
char *index_file_beside(const struct recording *recording);
char *index_file_cached(const struct recording *recording, bool make);

#endif
