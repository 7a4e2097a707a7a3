/* /maps and /export/maps.csv: the mappings that the program made itself, as bytehound has them
 * since 0.9. */
#include <stdlib.h>
#include <sys/mman.h>

#include "analysis/filter/filter_maps.h"
#include "analysis/blocks/block_bits.h"
#include "analysis/views/jemalloc.h"
#include "analysis/views/map_lives.h"
#include "hosted/cleanup.h"
#include "report/csv/csv_report.h"
#include "server/answers/rest_json.h"
#include "server/routes/route.h"

/* The choices of sort_by. */
enum { BY_TIME, BY_ADDRESS, BY_SIZE, BY_PEAK };

/* The choices of readable and others. */
enum map_wanted { WANT_ALL, WANT_TRUE, WANT_FALSE };

/* Some of a recording's mappings. */
struct map_page {
	struct dataset *dataset;
	const struct mapping_operation *operations;
	struct map_lives lives;
	enum stack_form form;
	bool strip;
	bool regions, history; /* these are wanted, too */
};

/* Writes a call: when, by whom, and from where. */
static struct err *put_source(struct json_writer *json, const struct map_page *page,
			      uint32_t operation)
{
	const struct mapping_operation *call = &page->operations[operation];
	struct err *err;

	json_key(json, "source");
	json_object(json);
	rest_json_field_moment(json, "timestamp", call->time_ns, page->dataset->facts);
	rest_json_field_thread(json, page->dataset->recording, call->thread);
	json_field_u64(json, "backtrace_id", call->stack);
	err = dataset_field_stack(page->dataset, json, call->stack, page->form, page->strip);
	json_end(json);
	return err;
}

static struct err *put_end(struct json_writer *json, const struct map_page *page, uint32_t gone)
{
	struct err *err;

	json_key(json, "deallocation");
	if (gone == RECORDING_NONE) {
		json_null(json);
		return NULL;
	}
	json_object(json);
	rest_json_field_time(json, "timestamp",
			     page->dataset->facts->start_realtime_ns +
				     page->operations[gone].time_ns);
	err = put_source(json, page, gone);
	json_end(json);
	return err;
}

/* When all of it had gone, and by which calls: the range that each took away. */
static struct err *put_cuts(struct json_writer *json, const struct map_page *page,
			    const struct map_life *life)
{
	const struct map_cut *cuts = &page->lives.cuts[life->first_cut];
	struct err *err = NULL;

	json_key(json, "deallocation");
	if (life->gone == RECORDING_NONE) {
		json_null(json);
		return NULL;
	}
	json_object(json);
	rest_json_field_time(json, "timestamp",
			     page->dataset->facts->start_realtime_ns +
				     page->operations[life->gone].time_ns);
	json_key(json, "sources");
	json_array(json);
	for (uint32_t i = 0; !err && i < life->cuts; i++) {
		json_object(json);
		json_field_u64(json, "address", cuts[i].address);
		json_field_u64(json, "length", cuts[i].length);
		err = put_source(json, page, cuts[i].operation);
		json_end(json);
	}
	json_end(json);
	json_end(json);
	return err;
}

/* Where it is, since when and how large. */
static void put_place(struct json_writer *json, const struct map_page *page,
		      const struct map_life *life)
{
	rest_json_field_address(json, "address", life->address);
	rest_json_field_moment(json, "timestamp", page->operations[life->made].time_ns,
			       page->dataset->facts);
	json_field_u64(json, "size", life->length);
}

/* What is the same of a mapping and of its region. */
static void put_kind(struct json_writer *json, const struct mapping_operation *made)
{
	rest_json_field_access(json, made);
	json_field_bool(json, "is_shared", made->flags & MAP_SHARED);
	json_field_text(json, "name", made->fd < 0 ? "" : "file");
}

/* bytehound's regions differ in what the kernel says of them; by calls alone there is one. */
static struct err *put_regions(struct json_writer *json, const struct map_page *page,
			       const struct map_life *life)
{
	const struct mapping_operation *made = &page->operations[life->made];
	struct err *err;

	json_key(json, "regions");
	if (!page->regions) {
		json_null(json);
		return NULL;
	}
	json_array(json);
	json_object(json);
	put_place(json, page, life);
	err = put_cuts(json, page, life);
	put_kind(json, made);
	json_field_u64(json, "file_offset", made->fd < 0 ? 0 : made->offset);
	json_field_u64(json, "inode", 0);
	json_field_u64(json, "major", 0);
	json_field_u64(json, "minor", 0);
	json_end(json);
	json_end(json);
	return err;
}

/* Writes a mapping: `map` of answer.def. number: index in lives. Call it under the data set's lock.
 */
static struct err *put_map(struct json_writer *json, const struct map_page *page, uint32_t number)
{
	const struct map_life *life = &page->lives.items[number];
	struct err *err;

	json_object(json);
	json_field_u64(json, "id", number);
	put_place(json, page, life);
	json_field_u64(json, "left", life->left);
	err = put_source(json, page, life->made);
	if (!err)
		err = put_end(json, page, life->gone);
	put_kind(json, &page->operations[life->made]);
	json_field_u64(json, "peak_rss", 0);
	json_key(json, "graph_preview_url");
	json_null(json);
	json_key(json, "graph_url");
	json_null(json);
	if (!err)
		err = put_regions(json, page, life);
	json_key(json, "usage_history");
	if (page->history)
		json_array(json);
	else
		json_null(json);
	if (page->history)
		json_end(json);
	json_end(json);
	return err;
}

struct maps {
	struct map_page page;
	uint32_t *order; /* those that match */
	uint64_t count;
	uint64_t at, end; /* the page */
	bool begun;
	struct json_writer json;
};

static void drop_maps(void *state)
{
	struct maps *maps = state;

	map_lives_deinit(&maps->page.lives);
	dataset_release(maps->page.dataset);
	free(maps->order);
	free(maps);
}

static struct err *make_maps(void *state, struct buf *buf, bool *done)
{
	struct maps *maps = state;
	struct json_writer *json = &maps->json;
	struct err *err = NULL;

	if (!maps->begun) {
		json_init(json, buf, false);
		json_object(json);
		json_key(json, "maps");
		json_array(json);
		maps->begun = true;
	}
	dataset_lock(maps->page.dataset);
	while (!err && buf->size < BODY_PIECE && maps->at < maps->end)
		err = put_map(json, &maps->page, maps->order[maps->at++]);
	dataset_unlock(maps->page.dataset);
	if (maps->at == maps->end) {
		json_end(json);
		json_field_u64(json, "total_count", maps->count);
		json_end(json);
		*done = true;
	}
	return err;
}

static struct err *put_csv(struct csv_writer *csv, const struct map_page *page, uint32_t number,
			   struct csv_frames *frames)
{
	const struct map_life *life = &page->lives.items[number];
	const struct mapping_operation *made = &page->operations[life->made];
	const struct report_subject subject = {.recording = page->dataset->recording,
					       .symbolized = page->dataset->symbolized};
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(subject.recording, &count);
	struct err *err;

	csv_u64(csv, number);
	csv_u64(csv, life->address);
	csv_u64(csv, life->length);
	csv_u64(csv, life->left);
	csv_u64(csv, made->time_ns);
	if (life->gone == RECORDING_NONE)
		csv_empty(csv);
	else
		csv_u64(csv, page->operations[life->gone].time_ns);
	if (made->thread < count)
		csv_u64(csv, threads[made->thread].tid);
	else
		csv_empty(csv);
	csv_u64(csv, !!(made->protection & PROT_READ));
	csv_u64(csv, !!(made->protection & PROT_WRITE));
	csv_u64(csv, !!(made->protection & PROT_EXEC));
	csv_u64(csv, !!(made->flags & MAP_SHARED));
	csv_text(csv, made->fd < 0 ? NULL : "file");
	csv_u64(csv, made->stack);
	err = csv_report_stack(csv, &subject, made->stack, frames);
	csv_end_row(csv);
	return err;
}

/* There are few mappings: the file is made as a whole. */
static struct err *write_csv(struct maps *maps, struct reply *reply)
{
	cleanup(csv_frames_deinit) struct csv_frames frames = {0};
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct csv_writer csv = {.buf = &buf};
	struct err *err = NULL;

	csv_words(&csv, "id address size left made_ns gone_ns thread readable writable executable "
			"shared name backtrace_id " CSV_REPORT_STACK);
	dataset_lock(maps->page.dataset);
	while (!err && maps->at < maps->end)
		err = put_csv(&csv, &maps->page, maps->order[maps->at++], &frames);
	dataset_unlock(maps->page.dataset);
	return err ? err : reply_whole(reply, &buf);
}

static bool is_wanted(const struct request *request, enum parameter_id id, bool value)
{
	unsigned int wanted = request->choices[id];

	return wanted == WANT_ALL || (wanted == WANT_TRUE) == value;
}

/* By what is no condition of filter.def. As in bytehound neither bound of peak_rss is inclusive. */
static bool has_kind(const struct request *request, const struct recording *recording,
		     const struct mapping_operation *made)
{
	return is_wanted(request, PARAMETER_MAP_READABLE, made->protection & PROT_READ) &&
	       is_wanted(request, PARAMETER_MAP_WRITABLE, made->protection & PROT_WRITE) &&
	       is_wanted(request, PARAMETER_MAP_EXECUTABLE, made->protection & PROT_EXEC) &&
	       is_wanted(request, PARAMETER_MAP_JEMALLOC,
			 jemalloc_called(recording, made->stack)) &&
	       is_wanted(request, PARAMETER_MAP_BYTEHOUND, false) &&
	       !request->given[PARAMETER_MAP_PEAK_MIN] &&
	       (!request->given[PARAMETER_MAP_PEAK_MAX] ||
		request->numbers[PARAMETER_MAP_PEAK_MAX] > 0);
}

/* Puts the mappings that are asked for into maps->order. Call it under the lock. */
static struct err *choose_maps(struct request *request, struct reply *reply, struct maps *maps)
{
	cleanup(filter_match_deinit) struct filter_match match = {0};
	const struct recording *recording = maps->page.dataset->recording;
	const struct map_lives *lives = &maps->page.lives;
	bool one = request->given[PARAMETER_MAP_ID];
	struct err *err = filter_maps(request->filter, recording, maps->page.dataset->symbolized,
				      lives, &match);

	if (err)
		return reply_refuse_err(reply, err);
	maps->order = malloc((lives->count + 1) * sizeof(*maps->order));
	if (!maps->order)
		return err_no_memory();
	for (uint32_t i = 0; i < lives->count; i++)
		if (one ? i == request->numbers[PARAMETER_MAP_ID]
			: block_bits_has(match.words, i) &&
				    has_kind(request, recording,
					     &maps->page.operations[lives->items[i].made]))
			maps->order[maps->count++] = i;
	return NULL;
}

struct sort {
	const struct map_life *lives;
	unsigned int by;
};

/* A request_key. What is mapped with the same call is in the order of the calls, as by time. */
static uint64_t map_key(const void *argument, uint32_t number)
{
	const struct sort *sort = argument;
	const struct map_life *life = &sort->lives[number];

	return sort->by == BY_ADDRESS ? life->address : sort->by == BY_SIZE ? life->length : 0;
}

struct err *route_maps(struct request *request, struct reply *reply)
{
	struct maps *maps = calloc(1, sizeof(*maps));
	struct sort sort = {.by = request->choices[PARAMETER_MAP_SORT]};
	struct err *err;
	uint32_t operations;

	if (!maps)
		return err_no_memory();
	maps->page = (struct map_page){
		.dataset = dataset_hold(request->dataset),
		.operations = recording_mappings(request->dataset->recording, &operations),
		.form = request_stack_form(request),
		.strip = request_strips(request),
		.regions = request->choices[PARAMETER_MAP_REGIONS] == 1,
		.history = request->choices[PARAMETER_MAP_HISTORY] == 1,
	};
	err = map_lives_create(request->dataset->recording, &maps->page.lives);
	if (!err) {
		dataset_lock(request->dataset);
		err = choose_maps(request, reply, maps);
		dataset_unlock(request->dataset);
	}
	if (err || reply->status) {
		drop_maps(maps);
		return err;
	}
	sort.lives = maps->page.lives.items;
	request_sort(request, maps->order, maps->count, map_key, &sort,
		     sort.by == BY_SIZE || sort.by == BY_PEAK);
	request_page(request, maps->count, &maps->at, &maps->end);
	if (request->route->answer == route_maps)
		return reply_pieces(reply, make_maps, maps, drop_maps);
	err = write_csv(maps, reply);
	drop_maps(maps);
	return err;
}

struct err *route_maps_csv(struct request *request, struct reply *reply)
{
	return route_maps(request, reply);
}
