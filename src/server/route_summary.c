/* /summary: what a recording is, its lists, and the sums of all and of matching allocations. */
#include "analysis/facts/run_facts.h"
#include "analysis/filter/filtered.h"
#include "analysis/views/series_stored.h"
#include "hosted/cleanup.h"
#include "report/json/info_json.h"
#include "report/json/json_report.h"
#include "server/group_json.h"
#include "server/route.h"
#include "server/selection.h"

CLEANUP_DEFINE(struct recording *, recording_close);
CLEANUP_DEFINE(struct series *, series_destroy);
CLEANUP_DEFINE(struct selection *, selection_release);

/* What the answer is made of. */
struct summarized {
	const struct recording *recording;
	const struct recording
		*matched;            /* filtered.h; the recording itself if there is no filter */
	struct group_json_peak peak; /* of what matches */
	bool has_blocks;
};

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

static struct err *answer(const struct summarized *summarized, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;

	json_init(&json, &buf, false);
	json_object(&json);
	json_key(&json, "facts");
	info_json_write(&json, summarized->recording, false);
	put_sums(&json, "all", summarized->recording);
	put_sums(&json, "matched", summarized->matched);
	group_json_field_peak(&json, summarized->recording, &summarized->peak);
	put_marks(&json, summarized->recording);
	put_switches(&json, summarized->recording);
	put_threads(&json, summarized->recording);
	info_json_modules(&json, summarized->recording);
	json_field_bool(&json, "has_blocks", summarized->has_blocks);
	json_end(&json);
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

/* Of all allocations: from an index, or of what an open recording keeps. */
static struct err *answer_all(const struct recording *recording, bool has_blocks,
			      struct reply *reply)
{
	struct summarized summarized = {recording, recording, peak_of(recording), has_blocks};
	struct err *err = find_peak(recording, &summarized.peak);

	return err ? err : answer(&summarized, reply);
}

static struct err *answer_matched(struct request *request, struct reply *reply)
{
	cleanup(recording_close_at) struct recording *filtered = NULL;
	cleanup(selection_release_at) struct selection *selection = NULL;
	const struct dataset *dataset = request->dataset;
	struct summarized summarized = {.recording = dataset->recording,
					.has_blocks = dataset->blocks->count};
	struct err *err;
	uint64_t block;

	dataset_lock(request->dataset);
	err = request_select(request, reply, &selection);
	dataset_unlock(request->dataset);
	if (err || !selection)
		return err;
	err = filtered_create(dataset->recording, &selection->match, &filtered);
	if (err)
		return err;
	summarized.matched = filtered;
	summarized.peak = peak_of(filtered);
	block = filtered_peak_block(filtered);
	if (block < dataset->blocks->count) {
		summarized.peak.thread = dataset->blocks->thread[block];
		summarized.peak.site = dataset->blocks->site[block];
	}
	return answer(&summarized, reply);
}

struct err *route_summary(struct request *request, struct reply *reply)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	bool all = filter_is_empty(request->filter);
	const struct recording_facts *facts;
	struct err *err = NULL;

	// Before the recording is opened with its blocks, which may take seconds.
	if (all)
		err = catalog_find_index(request->catalog, request->id, &recording);
	if (err)
		return err;
	facts = recording ? recording_facts(recording) : NULL;
	if (facts && facts->indexed && !facts->live)
		return answer_all(recording, facts->allocations > facts->culled_allocations, reply);
	err = request_open(request, reply);
	if (err || reply->status)
		return err;
	if (!all)
		return answer_matched(request, reply);
	return answer_all(request->dataset->recording, request->dataset->blocks->count, reply);
}
