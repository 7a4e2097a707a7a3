#include "server/data/dataset.h"

#include <stdlib.h>
#include <time.h>

#include "analysis/index/index_file.h"
#include "analysis/names/anonymous.h"
#include "analysis/views/frame_calls.h"
#include "hosted/cleanup.h"
#include "server/answers/group_json.h"
#include "server/data/selection.h"
#include "symbols/symbolizer.h"

void reading_deinit(struct reading *reading)
{
	growing_close(reading->growing);
	symbolizer_destroy(reading->symbolizer);
	*reading = (struct reading){0};
}

/* The references of a data set that no request uses: the catalog's. */
#define HELD_UNUSED 1

void dataset_release(struct dataset *dataset)
{
	if (!dataset)
		return;
	// While the reference is there, no other data set can take over.
	if (dataset->reading.growing &&
	    __atomic_load_n(&dataset->references, __ATOMIC_RELAXED) == HELD_UNUSED + 1)
		growing_give_back(dataset->reading.growing);
	if (__atomic_sub_fetch(&dataset->references, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < DATASET_SELECTIONS; i++)
		selection_release(dataset->selections[i]);
	for (size_t i = 0; i < 2; i++)
		frame_json_deinit(&dataset->frames[i]);
	for (size_t i = 0; i < BLOCK_GROUPS_COUNT; i++) {
		if (dataset->groups[i])
			block_groups_deinit(dataset->groups[i]);
		free(dataset->groups[i]);
	}
	free(dataset->frame_calls);
	free(dataset->sums);
	free(dataset->most_ns);
	free(dataset->timeline);
	free(dataset->errors);
	if (!dataset->merge)
		symbolized_destroy(dataset->symbolized);
	merge_destroy(dataset->merge);
	recording_close(dataset->owned);
	reading_deinit(&dataset->reading);
	dataset_release(dataset->before);
	diff_destroy(dataset->diff);
	dataset_release(dataset->as_recorded);
	pthread_mutex_destroy(&dataset->lock);
	free(dataset);
}

/* *ret: without a recording. */
static struct err *create_empty(struct dataset **ret)
{
	static uint64_t serials;
	struct dataset *dataset = calloc(1, sizeof(*dataset));
	struct timespec now;

	if (!dataset)
		return err_no_memory();
	dataset->references = 1;
	pthread_mutex_init(&dataset->lock, NULL);
	dataset->serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_REALTIME, &now);
	dataset->opened_realtime_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	*ret = dataset;
	return NULL;
}

/* Reads the recording, or what came to it since the last data set. */
static struct err *read_recording(struct dataset *dataset, const char *path,
				  const struct dataset_options *options)
{
	struct reading *reading = &dataset->reading;
	struct err *err = NULL;

	if (!reading->growing)
		err = growing_open(path, RECORDING_BLOCKS | RECORDING_RUN_FACTS, &reading->growing);
	if (!err) {
		growing_tell(reading->growing, options->progress, options->argument);
		err = growing_look(reading->growing, &dataset->owned);
		growing_tell(reading->growing, NULL, NULL);
	}
	if (!err && !growing_goes_on(reading->growing))
		growing_close(steal(&reading->growing));
	return err;
}

static struct err *make_symbolizer(struct dataset *dataset, const char *const *debug_paths)
{
	struct reading *reading = &dataset->reading;
	struct err *err;

	if (reading->symbolizer)
		return NULL;
	err = symbolizer_create(&reading->symbolizer);
	return err ? err : symbolizer_add_debug_paths(reading->symbolizer, debug_paths);
}

/* Takes its recording, which has names. */
static struct err *take_recording(struct dataset *dataset, const struct recording *recording)
{
	struct err *err = frame_calls_create(recording, &dataset->frame_calls);

	if (err)
		return err;
	dataset->recording = recording;
	dataset->facts = recording_facts(recording);
	dataset->blocks = recording_blocks(recording);
	frame_json_init(&dataset->frames[0], dataset->symbolized, dataset->frame_calls, false);
	frame_json_init(&dataset->frames[1], dataset->symbolized, dataset->frame_calls, true);
	return NULL;
}

/* Names the recording that the data set owns, and takes it. */
static struct err *name_owned(struct dataset *dataset, const char *const *debug_paths)
{
	struct err *err = make_symbolizer(dataset, debug_paths);

	if (!err)
		err = symbolized_create(dataset->owned,
					&(struct naming){.symbolizer = dataset->reading.symbolizer},
					&dataset->symbolized);
	if (!err && dataset->anonymous) {
		err = symbolized_anonymize(dataset->symbolized);
		recording_anonymize(dataset->owned);
	}
	return err ? err : take_recording(dataset, dataset->owned);
}

void dataset_note_end(struct dataset *dataset)
{
	recording_note_end(dataset->owned);
}

struct err *dataset_open(const char *path, const struct dataset_options *options,
			 struct reading *reading, struct dataset **ret)
{
	cleanup(dataset_release_at) struct dataset *dataset = NULL;
	struct err *err = create_empty(&dataset);

	if (err) {
		reading_deinit(reading);
		return err;
	}
	dataset->reading = *reading;
	*reading = (struct reading){0};
	dataset->path = path;
	dataset->anonymous = options->anonymous;
	err = read_recording(dataset, path, options);
	if (!err)
		index_file_renew(dataset->owned);
	if (!err)
		err = name_owned(dataset, options->debug_paths);
	if (!err)
		*ret = steal(&dataset);
	return err;
}

struct err *dataset_open_filtered(struct dataset *of, const struct filter *filter,
				  const char *const *debug_paths, struct dataset **ret)
{
	cleanup(dataset_release_at) struct dataset *dataset = NULL;
	struct err *err = create_empty(&dataset);

	if (err)
		return err;
	dataset->as_recorded = dataset_hold(of);
	dataset->path = of->path;
	dataset->anonymous = of->anonymous;
	dataset_lock(of);
	err = filter_aggregate(filter, of->recording, of->symbolized, &dataset->owned);
	dataset_unlock(of);
	if (!err)
		err = name_owned(dataset, debug_paths);
	if (!err)
		*ret = steal(&dataset);
	return err;
}

/* Adds those that can be read. The error is that of the first, if none can. */
static struct err *add_all(struct merge *merge, const char *const *paths, size_t count)
{
	struct err *first = NULL;

	for (size_t i = 0; i < count; i++) {
		struct err *err = merge_add(merge, paths[i], NULL, NULL);

		if (err && !first)
			first = err;
		else
			err_destroy(err);
	}
	if (!merge_count(merge))
		return first ? first : err_create("there is nothing to merge");
	err_destroy(first);
	return NULL;
}

struct err *dataset_open_merged(const char *const *paths, size_t count,
				const char *const *debug_paths, struct dataset **ret)
{
	cleanup(dataset_release_at) struct dataset *dataset = NULL;
	struct err *err = create_empty(&dataset);

	if (!err)
		err = make_symbolizer(dataset, debug_paths);
	if (err)
		return err;
	dataset->naming.symbolizer = dataset->reading.symbolizer;
	err = merge_create(&dataset->naming, &dataset->merge);
	if (!err)
		err = add_all(dataset->merge, paths, count);
	if (!err)
		err = merge_run(dataset->merge, NULL, NULL);
	if (err)
		return err;
	dataset->symbolized = merge_symbolized(dataset->merge);
	err = take_recording(dataset, merge_recording(dataset->merge));
	if (!err)
		*ret = steal(&dataset);
	return err;
}

struct err *dataset_open_side(struct dataset *of, const struct diff *diff, int side,
			      struct dataset **ret)
{
	cleanup(dataset_release_at) struct dataset *dataset = NULL;
	struct err *err = create_empty(&dataset);

	if (err)
		return err;
	dataset->as_recorded = dataset_hold(of);
	err = diff_names(diff, side, &dataset->symbolized);
	if (!err)
		err = take_recording(dataset, diff->sides[side]);
	if (!err)
		*ret = steal(&dataset);
	return err;
}

struct dataset *dataset_hold(struct dataset *dataset)
{
	__atomic_add_fetch(&dataset->references, 1, __ATOMIC_RELAXED);
	return dataset;
}

bool dataset_grows(const struct dataset *dataset)
{
	return dataset->reading.growing;
}

struct reading dataset_end(struct dataset *dataset)
{
	struct reading reading = dataset->reading;

	dataset->reading = (struct reading){0};
	dataset_release(dataset);
	return reading;
}

bool dataset_is_unused(const struct dataset *dataset)
{
	return __atomic_load_n(&dataset->references, __ATOMIC_ACQUIRE) == 1;
}

/*
 * Up to so many frames are named although nobody asked, so that the files can be closed. Their
 * names take some tens of kilobytes and, with the files open, milliseconds; the C library's debug
 * information alone takes 9 MB.
 */
#define NAMED_UNASKED 1024

void dataset_settle(struct dataset *dataset)
{
	if (dataset->as_recorded)
		dataset_settle(dataset->as_recorded);
	if (pthread_mutex_trylock(&dataset->lock))
		return;
	// Names that fail now are looked up again when they are asked for.
	err_destroy(symbolized_settle(dataset->symbolized, NAMED_UNASKED));
	pthread_mutex_unlock(&dataset->lock);
}

void dataset_lock(struct dataset *dataset)
{
	pthread_mutex_lock(&dataset->lock);
}

void dataset_unlock(struct dataset *dataset)
{
	pthread_mutex_unlock(&dataset->lock);
}

void dataset_lock_both(struct dataset *one, struct dataset *other)
{
	dataset_lock(one->serial < other->serial ? one : other);
	if (one != other)
		dataset_lock(one->serial < other->serial ? other : one);
}

void dataset_unlock_both(struct dataset *one, struct dataset *other)
{
	dataset_unlock(one);
	if (one != other)
		dataset_unlock(other);
}

struct err *dataset_sums(struct dataset *dataset, const struct site_sums **ret)
{
	struct err *err = NULL;

	if (!dataset->sums)
		err = site_sums_create(dataset->recording, NULL, &dataset->sums);
	*ret = dataset->sums;
	return err;
}

struct err *dataset_most(struct dataset *dataset, const uint64_t **ret)
{
	struct err *err = NULL;

	if (!dataset->most_ns)
		err = site_usage_most(dataset->recording, &dataset->most_ns);
	*ret = dataset->most_ns;
	return err;
}

struct err *dataset_timeline(struct dataset *dataset, const struct timeline_point **ret,
			     size_t *count)
{
	struct err *err = NULL;

	if (!dataset->timeline)
		err = timeline_create(dataset->recording, &dataset->timeline,
				      &dataset->timeline_count);
	*ret = dataset->timeline;
	*count = dataset->timeline_count;
	return err;
}

struct err *dataset_groups(struct dataset *dataset, enum block_groups_by by,
			   const struct block_groups **ret)
{
	struct block_groups **groups = &dataset->groups[by];

	if (!*groups) {
		auto_free struct block_groups *made = calloc(1, sizeof(*made));
		struct err *err;

		if (!made)
			return err_no_memory();
		err = block_groups_create(dataset->recording, dataset->symbolized, by, 0, made);
		if (err)
			return err;
		*groups = steal(&made);
	}
	*ret = *groups;
	return NULL;
}

struct err *dataset_put_stack(struct dataset *dataset, struct json_writer *json, uint32_t stack,
			      bool strip)
{
	return frame_json_put_stack(&dataset->frames[strip], json, stack);
}

struct err *dataset_field_stack(struct dataset *dataset, struct json_writer *json, uint32_t stack,
				enum stack_form form, bool strip)
{
	struct err *err = NULL;

	json_key(json, "backtrace");
	if (form == STACK_FRAMES)
		err = dataset_put_stack(dataset, json, stack, strip);
	else
		json_null(json);
	json_key(json, "site");
	if (!err && form == STACK_SITE && stack != RECORDING_NONE)
		err = group_json_put_site(json, dataset->symbolized, stack);
	else
		json_null(json);
	return err;
}
