/*
 * One recording as the server holds it: loaded, with what several requests need of it, made when
 * first asked for and kept. Counted references; a recording that grew is loaded anew beside the old
 * one, which goes when its last request is over.
 *
 * What is derived, and the names, belong to whoever holds the lock; what is made once stays where
 * it is and may be read without it afterwards.
 */
#ifndef MALLOW_SERVER_DATASET_H
#define MALLOW_SERVER_DATASET_H

#include <pthread.h>

#include "analysis/blocks/site_sums.h"
#include "analysis/names/symbolized.h"
#include "server/frame_json.h"

#define DATASET_SELECTIONS 4

struct selection;

struct dataset {
	const struct recording *recording;
	const struct recording_facts *facts;
	const struct block_columns *blocks;
	uint64_t opened_realtime_ns;
	uint64_t serial; /* of all data sets of this process: another one's is another */

	pthread_mutex_t lock;
	struct symbolized *symbolized;
	struct frame_json frames[2]; /* with whole names, and with template arguments stripped */
	struct selection *selections[DATASET_SELECTIONS]; /* the latest used first */

	struct recording *owned;
	struct symbolizer *symbolizer;
	uint64_t *frame_calls;
	struct site_sums *sums;
	unsigned int references;
};

/*
 * With all that its blocks are needed for; one reference. debug_paths: for
 * symbolizer_add_debug_paths().
 */
struct err *dataset_open(const char *path, const char *const *debug_paths, struct dataset **ret);
struct dataset *dataset_hold(struct dataset *dataset);
/* Accepts NULL. */
void dataset_release(struct dataset *dataset);

/* Whether its one reference is that of who asks, and keeps others from taking one. */
bool dataset_is_unused(const struct dataset *dataset);

/*
 * At the end of a request: what was opened to find names is closed again where it has done its
 * work. Not under the lock; does nothing while somebody else is at work with it.
 */
void dataset_settle(struct dataset *dataset);

void dataset_lock(struct dataset *dataset);
void dataset_unlock(struct dataset *dataset);

/* Under the lock. What all allocations come to, for each site. */
struct err *dataset_sums(struct dataset *dataset, const struct site_sums **ret);

/*
 * Under the lock. A stack, by its innermost node or RECORDING_NONE, as an array of frames,
 * outermost first.
 */
struct err *dataset_put_stack(struct dataset *dataset, struct json_writer *json, uint32_t stack,
			      bool strip);

#endif
