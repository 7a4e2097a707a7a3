/* /series: curves of what was live over a span of the run. */
#include <microhttpd.h>
#include <stddef.h>

#include "analysis/views/series.h"
#include "hosted/cleanup.h"
#include "server/group_json.h"
#include "server/rest_json.h"
#include "server/route.h"
#include "server/selection.h"

#define STEPS_STANDARD 500
#define TOP_STANDARD   8

static const enum block_groups_by choices[] = {BLOCK_GROUPS_FATE, BLOCK_GROUPS_FUNCTION,
					       BLOCK_GROUPS_MODULE, BLOCK_GROUPS_THREAD,
					       BLOCK_GROUPS_SITE};

/* What a request asks for, and its answer. */
struct asked {
	struct dataset *dataset;
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

/* Call it under the lock. */
static struct err *put_curve(struct json_writer *json, const struct asked *asked,
			     const struct series_curve *curve)
{
	struct err *err;

	json_object(json);
	err = group_json_put(json, asked->dataset, asked->query.groups, curve->group,
			     curve->groups);
	if (err)
		return err;
	POINTS("live_last", curve, bytes, asked->series->steps);
	put_points(json, curve, asked->series->steps);
	json_end(json);
	return NULL;
}

static void put_peak(struct json_writer *json, const struct asked *asked)
{
	const struct series *series = asked->series;

	json_key(json, "peak");
	json_object(json);
	json_field_u64(json, "at_ns", series->peak_ns);
	json_field_u64(json, "bytes", series->peak_bytes);
	json_field_u64(json, "blocks", series->peak_blocks);
	rest_json_field_thread(json, asked->dataset->recording, series->peak_thread);
	group_json_field_stack(json, asked->dataset->recording, series->peak_site);
	json_end(json);
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
	size_t count;

	err = series_memory(asked->dataset->recording, asked->series, asked->query.start_ns,
			    &samples, &count);
	if (err)
		return err;
	json_key(json, "memory");
	json_object(json);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
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
	dataset_lock(asked->dataset);
	for (uint32_t i = 0; !err && i < series->curve_count; i++)
		err = put_curve(json, asked, &series->curves[i]);
	dataset_unlock(asked->dataset);
	if (err)
		return err;
	json_end(json);
	put_peak(json, asked);
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

struct err *route_series(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	cleanup(asked_deinit) struct asked asked = {
		.dataset = request->dataset,
		.query = {.steps = STEPS_STANDARD, .top = TOP_STANDARD},
		.late_ns = request->given[PARAMETER_SERIES_LATE]
				   ? request->numbers[PARAMETER_SERIES_LATE]
				   : request->dataset->facts->duration_ns / 10,
	};
	struct json_writer json;
	struct err *err = take_span(request, reply, &asked.query);

	if (err || reply->status)
		return err;
	dataset_lock(request->dataset);
	err = find_blocks(request, reply, &asked);
	dataset_unlock(request->dataset);
	if (err || reply->status)
		return err;
	err = series_create(request->dataset->recording, &asked.query, &asked.series);
	if (err)
		return err;
	json_init(&json, &buf, false);
	err = put_series(&json, &asked);
	return err ? err : reply_whole(reply, &buf);
}
