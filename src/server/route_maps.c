/* /maps: the mappings that the program made itself, as bytehound has them since 0.9. */
#include <stdlib.h>
#include <sys/mman.h>

#include "analysis/views/map_lives.h"
#include "server/rest_json.h"
#include "server/route.h"

/* The choices of sort_by. */
enum { BY_TIME, BY_ADDRESS, BY_SIZE, BY_PEAK };

struct maps {
	struct dataset *dataset;
	const struct mapping_operation *operations;
	struct map_life *lives;
	uint32_t *order; /* of lives */
	uint64_t count;
	uint64_t at, end; /* the page */
	enum stack_form form;
	bool strip;
	bool begun;
	struct json_writer json;
};

static void drop_maps(void *state)
{
	struct maps *maps = state;

	dataset_release(maps->dataset);
	free(maps->lives);
	free(maps->order);
	free(maps);
}

/* Writes a call: when, by whom, and from where. */
static struct err *put_source(struct json_writer *json, const struct maps *maps, uint32_t operation)
{
	const struct mapping_operation *call = &maps->operations[operation];
	struct err *err;

	json_key(json, "source");
	json_object(json);
	rest_json_field_moment(json, "timestamp", call->time_ns, maps->dataset->facts);
	rest_json_field_thread(json, maps->dataset->recording, call->thread);
	json_field_u64(json, "backtrace_id", call->stack);
	err = dataset_field_stack(maps->dataset, json, call->stack, maps->form, maps->strip);
	json_end(json);
	return err;
}

static struct err *put_end(struct json_writer *json, const struct maps *maps, uint32_t gone)
{
	struct err *err;

	json_key(json, "deallocation");
	if (gone == RECORDING_NONE) {
		json_null(json);
		return NULL;
	}
	json_object(json);
	rest_json_field_time(json, "timestamp",
			     maps->dataset->facts->start_realtime_ns +
				     maps->operations[gone].time_ns);
	err = put_source(json, maps, gone);
	json_end(json);
	return err;
}

static struct err *put_map(struct json_writer *json, const struct maps *maps, uint32_t number)
{
	const struct map_life *life = &maps->lives[number];
	const struct mapping_operation *made = &maps->operations[life->made];
	struct err *err;

	json_object(json);
	json_field_u64(json, "id", number);
	rest_json_field_address(json, "address", life->address);
	rest_json_field_moment(json, "timestamp", made->time_ns, maps->dataset->facts);
	json_field_u64(json, "size", life->length);
	json_field_u64(json, "left", life->left);
	err = put_source(json, maps, life->made);
	if (!err)
		err = put_end(json, maps, life->gone);
	rest_json_field_access(json, made);
	json_field_bool(json, "is_shared", made->flags & MAP_SHARED);
	json_field_text(json, "name", made->fd < 0 ? "" : "file");
	json_field_u64(json, "peak_rss", 0);
	json_key(json, "graph_preview_url");
	json_null(json);
	json_key(json, "graph_url");
	json_null(json);
	json_end(json);
	return err;
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
	dataset_lock(maps->dataset);
	while (!err && buf->size < BODY_PIECE && maps->at < maps->end)
		err = put_map(json, maps, maps->order[maps->at++]);
	dataset_unlock(maps->dataset);
	if (maps->at == maps->end) {
		json_end(json);
		json_field_u64(json, "total_count", maps->count);
		json_end(json);
		*done = true;
	}
	return err;
}

struct sort {
	const struct map_life *lives;
	unsigned int by;
};

/* What is mapped with the same call is in the order of the calls, as by time. */
static uint64_t key_of(const struct sort *sort, uint32_t number)
{
	const struct map_life *life = &sort->lives[number];

	return sort->by == BY_ADDRESS ? life->address : sort->by == BY_SIZE ? life->length : 0;
}

static int compare(const void *left, const void *right, void *argument)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t a_key = key_of(argument, a), b_key = key_of(argument, b);

	if (a_key != b_key)
		return a_key < b_key ? -1 : 1;
	return (a > b) - (a < b);
}

static struct err *sort_maps(const struct request *request, struct maps *maps)
{
	struct sort sort = {maps->lives, request->choices[PARAMETER_MAP_SORT]};
	bool descends = request_descends(request, sort.by == BY_SIZE || sort.by == BY_PEAK);

	maps->order = malloc((maps->count + 1) * sizeof(*maps->order));
	if (!maps->order)
		return err_no_memory();
	for (uint32_t i = 0; i < maps->count; i++)
		maps->order[i] = i;
	qsort_r(maps->order, maps->count, sizeof(*maps->order), compare, &sort);
	for (uint64_t i = 0; descends && i < maps->count / 2; i++) {
		uint32_t number = maps->order[i];

		maps->order[i] = maps->order[maps->count - 1 - i];
		maps->order[maps->count - 1 - i] = number;
	}
	return NULL;
}

struct err *route_maps(struct request *request, struct reply *reply)
{
	struct maps *maps = calloc(1, sizeof(*maps));
	struct err *err;
	uint32_t operations;
	size_t count = 0;

	if (!maps)
		return err_no_memory();
	maps->dataset = dataset_hold(request->dataset);
	maps->operations = recording_mappings(maps->dataset->recording, &operations);
	maps->form = request_stack_form(request);
	maps->strip = request_strips(request);
	err = map_lives_create(maps->dataset->recording, &maps->lives, &count);
	maps->count = count;
	if (!err)
		err = sort_maps(request, maps);
	if (err) {
		drop_maps(maps);
		return err;
	}
	request_page(request, maps->count, &maps->at, &maps->end);
	return reply_pieces(reply, make_maps, maps, drop_maps);
}
