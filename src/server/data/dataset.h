/*
 * A loaded recording, with data that several requests need: each is made when it is first asked
 * for, and kept. References are counted. A recording that has changed becomes a new data set; the
 * old one goes when its last request is over. Data sets of a recording that is being written share
 * what was read of it, so that the old one must go before the new one comes: dataset_end().
 *
 * The lock guards symbolized, frames and selections, and the making of sums, groups and the
 * timeline. The other members, but for references, do not change after dataset_open(). Sums, groups
 * and the timeline, once made, stay where they are, and may be read without the lock.
 */
#ifndef MALLOW_SERVER_DATA_DATASET_H
#define MALLOW_SERVER_DATA_DATASET_H

#include <pthread.h>

#include "analysis/blocks/site_sums.h"
#include "analysis/blocks/site_usage.h"
#include "analysis/diff/diff.h"
#include "analysis/filter/filter.h"
#include "analysis/names/symbolized.h"
#include "analysis/groups/block_groups.h"
#include "analysis/growing/growing.h"
#include "analysis/merge/merge.h"
#include "analysis/views/timeline.h"
#include "hosted/cleanup.h"
#include "server/answers/frame_json.h"

#define DATASET_SELECTIONS 4

struct selection;

/* What one data set of a recording leaves to the next. Zeroed: nothing. */
struct reading {
	struct growing *growing; /* NULL: the recording does not grow, or is not open */
	struct symbolizer *symbolizer;
};

struct dataset {
	const struct recording *recording;
	const struct recording_facts *facts;
	const struct block_columns *blocks;
	const char *path; /* of its file; facts->path is what others may know */
	bool anonymous;
	uint64_t opened_realtime_ns;
	uint64_t serial; /* a number that no other data set of this process has */

	pthread_mutex_t lock;
	struct symbolized *symbolized;
	struct frame_json frames[2]; /* with whole names; without arguments of templates */
	struct selection *selections[DATASET_SELECTIONS]; /* the latest used first; NULL: none */

	/*
	 * Of a recording that another one is compared with: both on common stacks (pairs.h). NULL:
	 * it is as it was recorded. Filters are about the recording as it was. The data set after
	 * holds the one before, and that one the diff, whose recordings both have. Of a filtered
	 * aggregate: all of it.
	 */
	struct dataset *as_recorded;
	struct dataset *before;
	struct diff *diff;

	/* Of several recordings as one: its recording and names are the merge's. NULL: it is none.
	 */
	struct merge *merge;
	struct naming naming;

	struct recording *owned;
	struct reading reading;
	uint64_t *frame_calls;
	struct site_sums *sums;
	uint64_t *most_ns;               /* NULL: not made */
	struct timeline_point *timeline; /* NULL: not made */
	size_t timeline_count;
	char *errors;                                    /* the answer of /errors; NULL: not made */
	struct block_groups *groups[BLOCK_GROUPS_COUNT]; /* NULL: not made */
	unsigned int references;
};

/* Whether it has sums of sites, and no blocks: several recordings as one, or imported sums. */
static inline bool dataset_has_sums_alone(const struct dataset *dataset)
{
	return dataset->merge || dataset->facts->aggregate;
}

struct dataset_options {
	const char *const *debug_paths; /* for symbolizer_add_debug_paths() */
	bool anonymous;                 /* as anonymous.h says */
	recording_progress *progress;   /* told how far the reading is; NULL: nobody is */
	void *argument;
};

/*
 * Opens a recording with its blocks. *ret: one reference for the caller. path: borrowed. *reading:
 * from dataset_end(), or zeroed; it is zeroed, also on failure.
 */
struct err *dataset_open(const char *path, const struct dataset_options *options,
			 struct reading *reading, struct dataset **ret);
/*
 * Opens several recordings as one. One that cannot be read is left out; the error is that of the
 * first, if all are.
 */
struct err *dataset_open_merged(const char *const *paths, size_t count,
				const char *const *debug_paths, struct dataset **ret);
/* The program has ended, and nothing more will come: facts say so from now on. */
void dataset_note_end(struct dataset *dataset);

/*
 * Releases the only reference. Returns what another data set of the recording can go on with; the
 * caller gives it to dataset_open() or reading_deinit().
 */
struct reading dataset_end(struct dataset *dataset);
void reading_deinit(struct reading *reading);
/* Whether another data set of the recording can go on from here. */
bool dataset_grows(const struct dataset *dataset);

/*
 * Opens one side of a diff of two data sets. of: the one that it was made of; the new one holds it.
 * *ret: one reference for the caller. It does not own the diff.
 */
struct err *dataset_open_side(struct dataset *of, const struct diff *diff, int side,
			      struct dataset **ret);
/*
 * Opens what a filter leaves of an aggregate. of: as above. debug_paths: as struct dataset_options
 * has them. An error that is not one of memory is about the conditions: filter_aggregate().
 */
struct err *dataset_open_filtered(struct dataset *of, const struct filter *filter,
				  const char *const *debug_paths, struct dataset **ret);
struct dataset *dataset_hold(struct dataset *dataset);
/* Accepts NULL. */
void dataset_release(struct dataset *dataset);
CLEANUP_DEFINE(struct dataset *, dataset_release);

/*
 * Whether the caller's reference is the only one. The caller must keep others from taking one
 * meanwhile.
 */
bool dataset_is_unused(const struct dataset *dataset);

/*
 * To be called at the end of a request. Closes files that were opened to find names, once they are
 * not needed any more. Not under the lock; does nothing while another thread holds it.
 */
void dataset_settle(struct dataset *dataset);

void dataset_lock(struct dataset *dataset);
void dataset_unlock(struct dataset *dataset);
/* Both, which may be one, in the order that all keep. */
void dataset_lock_both(struct dataset *one, struct dataset *other);
void dataset_unlock_both(struct dataset *one, struct dataset *other);

/*
 * *ret: the sums of all allocations, for each site; they live as long as the data set. Call it
 * under the lock.
 */
struct err *dataset_sums(struct dataset *dataset, const struct site_sums **ret);

/* *ret: site_usage_most(); it lives as long as the data set. Call it under the lock. */
struct err *dataset_most(struct dataset *dataset, const uint64_t **ret);

/* *ret: the points of timeline.h; they live as long as the data set. Call it under the lock. */
struct err *dataset_timeline(struct dataset *dataset, const struct timeline_point **ret,
			     size_t *count);

/*
 * *ret: the groups, not by fate; they live as long as the data set. The errors are those of
 * block_groups_create(). Call it under the lock.
 */
struct err *dataset_groups(struct dataset *dataset, enum block_groups_by by,
			   const struct block_groups **ret);

/*
 * Writes a stack as an array of frames, outermost first. stack: its innermost node, or
 * RECORDING_NONE. Call it under the lock.
 */
struct err *dataset_put_stack(struct dataset *dataset, struct json_writer *json, uint32_t stack,
			      bool strip);

/* What is written of a stack beside its number. In the order of the parameter `stacks`. */
enum stack_form {
	STACK_FRAMES,
	STACK_NUMBER,
	STACK_SITE, /* what its own code is called */
};

/*
 * Writes the fields "backtrace", a stack as above, and "site", null of an empty stack. What is not
 * wanted is null.
 */
struct err *dataset_field_stack(struct dataset *dataset, struct json_writer *json, uint32_t stack,
				enum stack_form form, bool strip);

#endif
