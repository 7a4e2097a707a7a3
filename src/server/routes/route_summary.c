/* /summary: what a recording is, its lists, and the sums of all and of matching allocations. */
#include "analysis/aggregate/aggregate.h"
#include "analysis/facts/run_facts.h"
#include "analysis/filter/filtered.h"
#include "analysis/views/series_stored.h"
#include "hosted/cleanup.h"
#include "report/json/info_json.h"
#include "report/json/json_report.h"
#include "server/answers/group_json.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

/* What the answer is made of. */
struct summarized {
	const struct recording *recording;
	const struct recording
		*matched;            /* filtered.h; the recording itself if there is no filter */
	struct group_json_peak peak; /* of what matches */
	bool has_blocks;
	struct recording *filtered; /* owned; NULL: there is no filter */
};

static void summarized_deinit(struct summarized *summarized)
{
	recording_close(summarized->filtered);
}

static void put_sums(struct json_writer *json, const char *key, const struct recording *recording)
{
	json_key(json, key);
	json_object(json);
	json_report_sums(json, recording_summary(recording));
	json_end(json);
}

static void put_marks(struct json_writer *json, const struct recording *recording)
{
	uint32_t count;
	const struct recorded_mark *marks = recording_marks(recording, &count);

	json_key(json, "marks");
	json_array(json);
	for (uint32_t i = 0; i < count; i++) {
		json_object(json);
		json_field_u64(json, "at_ns", marks[i].time_ns);
		json_field_text(json, "name", marks[i].name);
		json_end(json);
	}
	json_end(json);
}

static void put_switches(struct json_writer *json, const struct recording *recording)
{
	uint32_t count;
	const struct recorded_switch *switches = recording_switches(recording, &count);

	json_key(json, "switches");
	json_array(json);
	for (uint32_t i = 0; i < count; i++) {
		json_object(json);
		json_field_u64(json, "at_ns", switches[i].time_ns);
		json_field_bool(json, "on", switches[i].on);
		json_end(json);
	}
	json_end(json);
}

static void put_threads(struct json_writer *json, const struct recording *recording)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(recording, &count);

	json_key(json, "threads");
	json_array(json);
	for (uint32_t i = 0; i < count; i++) {
		json_object(json);
		json_field_u64(json, "thread", threads[i].tid);
		json_field_text(json, "name", *threads[i].name ? threads[i].name : NULL);
		json_key(json, "first_ns");
		if (threads[i].first_ns == TIME_NEVER)
			json_null(json);
		else
			json_u64(json, threads[i].first_ns);
		json_field_u64(json, "events", threads[i].events);
		json_end(json);
	}
	json_end(json);
}

/* Whether /series says how memory went over time: an import may be of one moment. */
static bool has_curve(const struct summarized *summarized)
{
	const struct aggregate *aggregate = recording_facts(summarized->recording)->aggregate;

	return aggregate ? aggregate->moment_count > 1 : summarized->has_blocks;
}

static void put_summary(struct json_writer *json, const struct request *request,
			const struct summarized *summarized)
{
	const struct source_options *sources = &catalog_options(request->catalog)->sources;
	uint32_t mallopts;

	json_object(json);
	json_key(json, "facts");
	info_json_write(json, summarized->recording, false);
	put_sums(json, "all", summarized->recording);
	put_sums(json, "matched", summarized->matched);
	group_json_field_peak(json, summarized->recording, &summarized->peak);
	put_marks(json, summarized->recording);
	put_switches(json, summarized->recording);
	put_threads(json, summarized->recording);
	info_json_modules(json, summarized->recording);
	json_field_bool(json, "has_blocks", summarized->has_blocks);
	json_field_bool(json, "has_curve", has_curve(summarized));
	recording_mallopts(summarized->recording, &mallopts);
	json_field_u64(json, "mallopts", mallopts);
	json_field_bool(
		json, "sources",
		sources->served &&
			!source_file_doubt(sources, recording_facts(summarized->recording)));
	json_end(json);
}

static struct err *answer_summary(const struct request *request,
				  const struct summarized *summarized, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;

	json_init(&json, &buf, false);
	put_summary(&json, request, summarized);
	return reply_whole(reply, &buf);
}

static struct group_json_peak peak_of(const struct recording *recording)
{
	const struct recording_summary *sum = recording_summary(recording);

	return (struct group_json_peak){
		.at_ns = sum->peak_time_ns,
		.bytes = sum->peak_bytes,
		.blocks = sum->peak_blocks,
		.thread = RECORDING_NONE,
		.site = RECORDING_NONE,
	};
}

/*
 * Finds whose allocation reached the peak of all. A finished recording has it twice: the curve is
 * there even if the recording was opened with its blocks, and its run facts are not made yet.
 */
static struct err *find_peak(const struct recording *recording, struct group_json_peak *peak)
{
	cleanup(series_destroy_at) struct series *series = NULL;
	const struct run_facts *facts = NULL;
	struct err *err = series_read_stored(recording, &series);

	if (!err && !series)
		err = recording_run_facts(recording, &facts);
	if (series || facts) {
		peak->thread = series ? series->peak_thread : facts->peak_thread;
		peak->site = series ? series->peak_site : facts->peak_site;
	}
	return err;
}

/* The summary of all allocations: from an index, or from what an open recording keeps. */
static struct err *summarize_all(const struct recording *recording, bool has_blocks,
				 struct summarized *ret)
{
	*ret = (struct summarized){recording, recording, peak_of(recording), has_blocks, NULL};
	return find_peak(recording, &ret->peak);
}

static struct err *summarize_matched(struct request *request, struct reply *reply,
				     struct summarized *ret)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	const struct dataset *dataset = request->dataset;
	struct err *err;
	uint64_t block;

	*ret = (struct summarized){.recording = dataset->recording,
				   .has_blocks = dataset->blocks->count};
	dataset_lock(request->dataset);
	err = request_select(request, reply, &selection);
	dataset_unlock(request->dataset);
	if (err || !selection)
		return err;
	err = filtered_create(dataset->recording, &selection->match, &ret->filtered);
	if (err)
		return err;
	ret->matched = ret->filtered;
	ret->peak = peak_of(ret->filtered);
	block = filtered_peak_block(ret->filtered);
	if (block < dataset->blocks->count) {
		ret->peak.thread = dataset->blocks->thread[block];
		ret->peak.site = dataset->blocks->site[block];
	}
	return NULL;
}

/* The summary for a request whose recording is open. */
static struct err *summarize_request(struct request *request, struct reply *reply,
				     struct summarized *ret)
{
	const struct dataset *dataset = request->dataset;

	struct err *err;

	if (!filter_is_empty(request->filter))
		return summarize_matched(request, reply, ret);
	err = summarize_all(dataset->recording, dataset->blocks->count, ret);
	if (dataset->facts->aggregate && dataset->as_recorded)
		ret->recording = dataset->as_recorded->recording; // its filter is its data set
	return err;
}

static void put_change(struct json_writer *json, const struct recording *before,
		       const struct recording *after)
{
	const struct recording_summary *from = recording_summary(before);
	const struct recording_summary *to = recording_summary(after);

	json_key(json, "change");
	json_object(json);
#define CHANGE(field) json_field_i64(json, #field, (int64_t)(to->field - from->field))
	CHANGE(calls);
	CHANGE(total_bytes);
	CHANGE(peak_bytes);
	CHANGE(peak_blocks);
	CHANGE(live_bytes);
	CHANGE(leaked_bytes);
	CHANGE(leaked_blocks);
	CHANGE(temporary);
#undef CHANGE
	json_end(json);
}

/* Answers with both sides, and how the sums of what matches differ. */
static struct err *answer_change(struct request *request, struct reply *reply)
{
	cleanup(summarized_deinit) struct summarized before = {0};
	cleanup(summarized_deinit) struct summarized after = {0};
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;
	struct err *err = summarize_request(request->before, reply, &before);

	if (!err && !reply->status)
		err = summarize_request(request, reply, &after);
	if (err || reply->status)
		return err;
	json_init(&json, &buf, false);
	json_object(&json);
	json_key(&json, "before");
	put_summary(&json, request, &before);
	json_key(&json, "after");
	put_summary(&json, request, &after);
	put_change(&json, before.matched, after.matched);
	json_end(&json);
	return reply_whole(reply, &buf);
}

/* Answers by the index, if the recording has one and nothing else is needed. */
static struct err *answer_index(const struct request *request, struct reply *reply)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct summarized summarized;
	const struct recording_facts *facts;
	struct err *err;

	if (request->before || !filter_is_empty(request->filter))
		return NULL;
	err = catalog_find_index(request->catalog, request->id, &recording);
	if (err || !recording)
		return err;
	facts = recording_facts(recording);
	if (!facts->indexed || facts->live)
		return NULL;
	err = summarize_all(recording,
			    !facts->aggregate && facts->allocations > facts->culled_allocations,
			    &summarized);
	return err ? err : answer_summary(request, &summarized, reply);
}

struct err *route_summary(struct request *request, struct reply *reply)
{
	cleanup(summarized_deinit) struct summarized summarized = {0};
	// Before the recording is opened with its blocks, which may take seconds.
	struct err *err = answer_index(request, reply);

	if (!err && !reply->status)
		err = request_open(request, reply);
	if (err || reply->status)
		return err;
	if (request->before)
		return answer_change(request, reply);
	err = summarize_request(request, reply, &summarized);
	return err || reply->status ? err : answer_summary(request, &summarized, reply);
}
