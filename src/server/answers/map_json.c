#include "server/answers/map_json.h"

#include <sys/mman.h>

#include "server/answers/rest_json.h"

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

/* A range that a call took away, and the call. */
static struct err *put_cut(struct json_writer *json, const struct map_page *page,
			   const struct map_cut *cut)
{
	struct err *err;

	json_object(json);
	json_field_u64(json, "address", cut->address);
	json_field_u64(json, "length", cut->length);
	err = put_source(json, page, cut->operation);
	json_end(json);
	return err;
}

/* When all of it had gone, and by which calls. */
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
	for (uint32_t i = 0; !err && i < life->cuts; i++)
		err = put_cut(json, page, &cuts[i]);
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

struct err *map_json_put(struct json_writer *json, const struct map_page *page, uint32_t number)
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
