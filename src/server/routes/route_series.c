/* /series: curves of what was live over a span of the run. */
#include <microhttpd.h>
#include <stddef.h>

#include "analysis/views/series_stored.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "server/answers/group_json.h"
#include "server/answers/rest_json.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

#define TOP_STANDARD 8

static const enum block_groups_by choices[] = {BLOCK_GROUPS_FATE, BLOCK_GROUPS_FUNCTION,
					       BLOCK_GROUPS_MODULE, BLOCK_GROUPS_THREAD,
					       BLOCK_GROUPS_SITE};

/* What a request asks for, and its answer. */
struct asked {
	const struct recording *recording;
	struct dataset *dataset; /* NULL: it is not open */
	struct selection *selection;
	struct series_query query;
	uint64_t late_ns;
	struct block_groups fates; /* by fate */
	struct series *series;
};

static void asked_deinit(struct asked *asked)
{
	series_destroy(asked->series);
	block_groups_deinit(&asked->fates);
	selection_release(asked->selection);
}

#define POINTS(key, curve, member, steps)                                                          \
	rest_json_field_column(json, key, &(curve)->points->member, sizeof(*(curve)->points), steps)

static void put_points(struct json_writer *json, const struct series_curve *curve, uint32_t steps)
{
	POINTS("live_blocks", curve, blocks, steps);
	POINTS("allocated_bytes", curve, allocated_bytes, steps);
	POINTS("allocated_blocks", curve, allocated_blocks, steps);
	POINTS("freed_bytes", curve, freed_bytes, steps);
	POINTS("freed_blocks", curve, freed_blocks, steps);
}

static struct err *put_curve(struct json_writer *json, const struct asked *asked,
			     const struct series_curve *curve)
{
	struct err *err;

	json_object(json);
	err = group_json_put(json, asked->recording,
			     asked->dataset ? asked->dataset->symbolized : NULL,
			     asked->query.groups, curve->group, curve->groups);
	if (err)
		return err;
	POINTS("live_last", curve, bytes, asked->series->steps);
	put_points(json, curve, asked->series->steps);
	json_end(json);
	return NULL;
}

static struct err *put_memory(struct json_writer *json, const struct asked *asked)
{
	static const struct {
		const char *key;
		size_t offset;
	} columns[] = {
		{"at_ns", offsetof(struct memory_sample, time_ns)},
		{"virtual_size", offsetof(struct memory_sample, virtual_size)},
		{"resident", offsetof(struct memory_sample, resident)},
		{"anonymous", offsetof(struct memory_sample, anonymous)},
		{"file", offsetof(struct memory_sample, file)},
		{"shared", offsetof(struct memory_sample, shared)},
		{"swap", offsetof(struct memory_sample, swap)},
	};
	auto_free struct memory_sample *samples = NULL;
	struct err *err;
	uint64_t usual_ns;
	size_t count;

	err = series_memory_usual(asked->recording, &usual_ns);
	if (!err)
		err = series_memory(asked->recording, asked->series, asked->query.start_ns,
				    &samples, &count);
	if (err)
		return err;
	json_key(json, "memory");
	json_object(json);
	json_field_u64(json, "usual_ns", usual_ns);
	for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
		rest_json_field_column(json, columns[i].key,
				       (const char *)samples + columns[i].offset, sizeof(*samples),
				       count);
	json_end(json);
	return NULL;
}

static struct err *put_series(struct json_writer *json, const struct asked *asked)
{
	const struct series *series = asked->series;
	struct err *err = NULL;

	json_object(json);
	json_field_u64(json, "start_ns", asked->query.start_ns);
	json_field_u64(json, "end_ns", asked->query.end_ns);
	json_field_u64(json, "late_ns", asked->late_ns);
	rest_json_field_column(json, "at_ns", series->ends, sizeof(*series->ends), series->steps);
	POINTS("live_last", &series->all, bytes, series->steps);
	rest_json_field_column(json, "live_most", series->most, sizeof(*series->most),
			       series->steps);
	rest_json_field_column(json, "live_slack", series->slack, sizeof(*series->slack),
			       series->steps);
	put_points(json, &series->all, series->steps);
	json_key(json, "curves");
	json_array(json);
	if (asked->dataset)
		dataset_lock(asked->dataset);
	for (uint32_t i = 0; !err && i < series->curve_count; i++)
		err = put_curve(json, asked, &series->curves[i]);
	if (asked->dataset)
		dataset_unlock(asked->dataset);
	if (err)
		return err;
	json_end(json);
	group_json_field_peak(json, asked->recording,
			      &(struct group_json_peak){series->peak_ns, series->peak_bytes,
							series->peak_blocks, series->peak_thread,
							series->peak_site});
	err = put_memory(json, asked);
	json_end(json);
	return err;
}

/* Reads the span and how it is divided. */
static struct err *take_span(const struct request *request, struct reply *reply,
			     struct series_query *query)
{
	uint64_t run = request->dataset->facts->duration_ns;
	struct err *err;

	err = request_moment(request, reply, PARAMETER_SERIES_START, false, 0, &query->start_ns);
	if (!err && !reply->status)
		err = request_moment(request, reply, PARAMETER_SERIES_END, true, run,
				     &query->end_ns);
	if (!err && !reply->status && query->start_ns > query->end_ns)
		err = reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				   "invalid 'end': it is before 'start'");
	if (!err && !reply->status)
		err = request_number(request, reply, PARAMETER_SERIES_POINTS, 1, SERIES_STEPS_MAX,
				     &query->steps);
	if (!err && !reply->status)
		err = request_number(request, reply, PARAMETER_SERIES_TOP, 0, SERIES_TOP_MAX,
				     &query->top);
	return err;
}

/* Finds the blocks and their groups. Call it under the lock. */
static struct err *find_blocks(struct request *request, struct reply *reply, struct asked *asked)
{
	enum block_groups_by by = choices[request->choices[PARAMETER_SERIES_BY]];
	struct err *err = request_select(request, reply, &asked->selection);

	if (err || reply->status)
		return err;
	asked->query.bits = asked->selection->bits;
	asked->query.groups = &asked->fates;
	return by == BLOCK_GROUPS_FATE ? block_groups_create(asked->dataset->recording, NULL, by,
							     asked->late_ns, &asked->fates)
				       : dataset_groups(asked->dataset, by, &asked->query.groups);
}

static struct err *answer_series(const struct asked *asked, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;
	struct err *err;

	json_init(&json, &buf, false);
	err = put_series(&json, asked);
	return err ? err : reply_whole(reply, &buf);
}

/* Whether a recording may have the answer in its file. */
static bool asks_stored(const struct request *request)
{
	return filter_is_empty(request->filter) && !request->given[PARAMETER_SERIES_START] &&
	       !request->given[PARAMETER_SERIES_END] && !request->given[PARAMETER_SERIES_LATE] &&
	       !request->given[PARAMETER_SERIES_TOP] &&
	       choices[request->choices[PARAMETER_SERIES_BY]] == BLOCK_GROUPS_FATE &&
	       (!request->given[PARAMETER_SERIES_POINTS] ||
		request->numbers[PARAMETER_SERIES_POINTS] == SERIES_STORED_STEPS);
}

/* Answers by the curve in the recording's file, if it has one. */
static struct err *answer_stored(const struct recording *recording, struct reply *reply)
{
	const struct recording_facts *facts = recording_facts(recording);
	cleanup(asked_deinit) struct asked asked = {
		.recording = recording,
		.late_ns = series_late_ns(facts),
		.query = {.end_ns = facts->duration_ns, .groups = &asked.fates},
	};
	struct err *err = series_read_stored(recording, &asked.series);

	if (err || !asked.series)
		return err;
	err = block_groups_create(recording, NULL, BLOCK_GROUPS_FATE, asked.late_ns, &asked.fates);
	return err ? err : answer_series(&asked, reply);
}

static struct err *answer_made(struct request *request, struct reply *reply)
{
	cleanup(asked_deinit) struct asked asked = {
		.recording = request->dataset->recording,
		.dataset = request->dataset,
		.query = {.steps = SERIES_STORED_STEPS, .top = TOP_STANDARD},
		.late_ns = request->given[PARAMETER_SERIES_LATE]
				   ? request->numbers[PARAMETER_SERIES_LATE]
				   : series_late_ns(request->dataset->facts),
	};
	struct err *err = take_span(request, reply, &asked.query);

	if (err || reply->status)
		return err;
	dataset_lock(request->dataset);
	err = find_blocks(request, reply, &asked);
	dataset_unlock(request->dataset);
	if (err || reply->status)
		return err;
	err = series_create(asked.recording, &asked.query, &asked.series);
	return err ? err : answer_series(&asked, reply);
}

struct err *route_series(struct request *request, struct reply *reply)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	bool stored = asks_stored(request);
	struct err *err = NULL;

	// Before the recording is opened with its blocks, which may take seconds.
	if (stored)
		err = catalog_find_index(request->catalog, request->id, &recording);
	if (!err && recording)
		err = answer_stored(recording, reply);
	if (!err && !reply->status)
		err = request_open(request, reply);
	if (!err && !reply->status && stored)
		err = answer_stored(request->dataset->recording, reply);
	return err || reply->status ? err : answer_made(request, reply);
}
