/*
 * What answers as parts of `mallow report --json` do: /findings, /stacks, /errors (--errors) and
 * /pools (--pools).
 */
#include <string.h>

#include "analysis/facts/run_facts.h"
#include "analysis/names/anonymous.h"
#include "hosted/cleanup.h"
#include "report/json/errors_json.h"
#include "report/json/findings_json.h"
#include "report/json/pools_json.h"
#include "server/routes/route.h"

/*
 * Writes the errors. The recording is opened anew: data sets do not keep what judges frees, which
 * few ask for. The data set is locked, as its symbolizer is used.
 */
static struct err *find_errors(struct json_writer *json, const struct dataset *dataset)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	cleanup(symbolized_destroy_at) struct symbolized *symbolized = NULL;
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};
	const struct naming naming = {.symbolizer = dataset->reading.symbolizer};
	struct err *err =
		recording_open(dataset->path, RECORDING_HEAP_ERRORS, NULL, NULL, &recording);

	if (!err)
		err = symbolized_create(recording, &naming, &symbolized);
	if (!err && dataset->anonymous)
		err = symbolized_anonymize(symbolized);
	if (err)
		return err;
	if (dataset->anonymous)
		recording_anonymize(recording);
	json_stacks_init(&stacks, recording, symbolized, false);
	return errors_json_write(json, &stacks, recording, 0);
}

/* All events are read for it, so the answer is kept. */
static struct err *put_errors(struct json_writer *json, struct dataset *dataset)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer kept;
	struct err *err = NULL;

	if (!dataset->errors) {
		json_init(&kept, &buf, false);
		err = find_errors(&kept, dataset);
		if (err)
			return err;
		dataset->errors = buf_take(&buf);
	}
	if (!dataset->errors)
		return err_no_memory();
	json_made(json, dataset->errors, strlen(dataset->errors));
	return NULL;
}

static struct err *put_pools(struct json_writer *json, struct dataset *dataset)
{
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};

	json_stacks_init(&stacks, dataset->recording, dataset->symbolized, false);
	return pools_json_write(json, &stacks, dataset->recording, METRIC_PEAK, 0);
}

static struct err *write_findings(struct json_writer *json, const struct recording *recording,
				  struct symbolized *symbolized)
{
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};
	struct err *err;

	json_stacks_init(&stacks, recording, symbolized, false);
	json_object(json);
	err = findings_json_write(json, &stacks, recording, symbolized);
	if (!err)
		err = json_stacks_finish(&stacks, json);
	if (!err)
		json_end(json);
	return err;
}

static struct err *put_findings(struct json_writer *json, struct dataset *dataset)
{
	return write_findings(json, dataset->recording, dataset->symbolized);
}

/* Answers by the recording's index, if that has run facts: blocks may take seconds. */
static struct err *find_in_index(const struct request *request, struct reply *reply)
{
	const struct catalog_options *options = catalog_options(request->catalog);
	cleanup(recording_close_at) struct recording *recording = NULL;
	cleanup(symbolizer_destroy_at) struct symbolizer *symbolizer = NULL;
	cleanup(symbolized_destroy_at) struct symbolized *symbolized = NULL;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	const struct run_facts *facts = NULL;
	struct json_writer json;
	struct err *err = catalog_find_index(request->catalog, request->id, &recording);

	// Names are taken out of a recording that has its modules' paths still.
	if (err || !recording || options->anonymous)
		return err;
	err = recording_run_facts(recording, &facts);
	if (err || !facts)
		return err;
	err = symbolizer_create(&symbolizer);
	if (!err)
		err = symbolizer_add_debug_paths(symbolizer, options->debug_paths);
	if (!err)
		err = symbolized_create(recording, &(struct naming){.symbolizer = symbolizer},
					&symbolized);
	if (err)
		return err;
	json_init(&json, &buf, false);
	err = write_findings(&json, recording, symbolized);
	return err ? err : reply_whole(reply, &buf);
}

/* Writes the stacks of all sites, which share their outer frames. */
static struct err *put_stacks(struct json_writer *json, struct dataset *dataset)
{
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};
	struct err *err = NULL;
	uint32_t count;
	const struct site *sites = recording_sites(dataset->recording, &count);

	json_stacks_init(&stacks, dataset->recording, dataset->symbolized, false);
	json_object(json);
	json_key(json, "backtrace_id");
	json_array(json);
	for (uint32_t i = 0; i < count; i++)
		json_u64(json, sites[i].stack);
	json_end(json);
	json_key(json, "stack");
	json_array(json);
	for (uint32_t i = 0; i < count && !err; i++)
		err = json_stacks_put(&stacks, json, sites[i].stack);
	json_end(json);
	if (!err)
		err = json_stacks_finish(&stacks, json);
	if (!err)
		json_end(json);
	return err;
}

static struct err *answer_report(struct request *request, struct reply *reply,
				 struct err *put(struct json_writer *, struct dataset *))
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct dataset *dataset = request->dataset;
	struct json_writer json;
	struct err *err;

	json_init(&json, &buf, false);
	dataset_lock(dataset);
	err = put(&json, dataset);
	dataset_unlock(dataset);
	return err ? err : reply_whole(reply, &buf);
}

struct err *route_errors(struct request *request, struct reply *reply)
{
	return answer_report(request, reply, put_errors);
}

struct err *route_pools(struct request *request, struct reply *reply)
{
	return answer_report(request, reply, put_pools);
}

struct err *route_findings(struct request *request, struct reply *reply)
{
	struct err *err = find_in_index(request, reply);

	if (!err && !reply->status)
		err = request_open(request, reply);
	return err || reply->status ? err : answer_report(request, reply, put_findings);
}

struct err *route_stacks(struct request *request, struct reply *reply)
{
	return answer_report(request, reply, put_stacks);
}
