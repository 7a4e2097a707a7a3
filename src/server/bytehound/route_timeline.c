/*
 * /timeline and its kin, /fragmentation_timeline and /regions: memory over time, and as a map of
 * addresses.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "analysis/views/heap_regions.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

CLEANUP_DEFINE(struct selection *, selection_release);

/* A member of struct timeline_point that becomes an array. */
struct series {
	const char *key;
	size_t offset; /* in struct timeline_point */
	bool is_signed;
};

#define POINT(member) offsetof(struct timeline_point, member)

static const struct series live_series[] = {
	{"xs", POINT(unix_s), false},
	{"size_delta", POINT(size_delta), true},
	{"count_delta", POINT(count_delta), true},
	{"allocated_size", POINT(size), false},
	{"allocated_count", POINT(count), false},
	{"leaked_size", POINT(leaked_size), false},
	{"leaked_count", POINT(leaked_count), false},
	{"allocations", POINT(allocated), false},
	{"deallocations", POINT(freed), false},
};

static const struct series fragmentation_series[] = {
	{"xs", POINT(unix_s), false},
	{"fragmentation", POINT(fragmentation), false},
};

static void put_series(struct json_writer *json, const struct series *series,
		       const struct timeline_point *points, size_t count)
{
	json_key(json, series->key);
	json_array(json);
	for (size_t i = 0; i < count; i++) {
		const void *value = (const char *)&points[i] + series->offset;

		if (series->is_signed)
			json_i64(json, *(const int64_t *)value);
		else
			json_u64(json, *(const uint64_t *)value);
	}
	json_end(json);
}

static struct err *answer(struct request *request, struct reply *reply, const struct series *series,
			  size_t series_count)
{
	const struct timeline_point *points;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;
	struct err *err;
	size_t count;

	dataset_lock(request->dataset);
	err = dataset_timeline(request->dataset, &points, &count);
	dataset_unlock(request->dataset);
	if (err)
		return err;
	json_init(&json, &buf, false);
	json_object(&json);
	json_field_text(&json, "xs_unit", "s");
	for (size_t i = 0; i < series_count; i++)
		put_series(&json, &series[i], points, count);
	json_end(&json);
	return reply_whole(reply, &buf);
}

struct err *route_timeline(struct request *request, struct reply *reply)
{
	return answer(request, reply, live_series, ARRAY_COUNT(live_series));
}

struct err *route_fragmentation_timeline(struct request *request, struct reply *reply)
{
	return answer(request, reply, fragmentation_series, ARRAY_COUNT(fragmentation_series));
}

/* Writes an array of `count` values, each made of its index i. */
#define ARRAY(key, value)                                                                          \
	json_key(json, key);                                                                       \
	json_array(json);                                                                          \
	for (size_t i = 0; i < count; i++)                                                         \
		json_u64(json, value);                                                             \
	json_end(json)

/*
 * What was never freed, as if there were nothing else. Times are milliseconds here, as in bytehound
 * 0.11; /timeline has seconds, as bytehound had before.
 */
static void put_leaked(struct json_writer *json, const struct timeline_point *points, size_t count)
{
#define CHANGE(member) (points[i].member - (i ? points[i - 1].member : 0))
	json_field_text(json, "xs_unit", "ms");
	ARRAY("xs", points[i].unix_s * 1000);
	ARRAY("size_delta", CHANGE(leaked_size));
	ARRAY("count_delta", CHANGE(leaked_count));
	ARRAY("allocated_size", points[i].leaked_size);
	ARRAY("allocated_count", points[i].leaked_count);
	ARRAY("allocations", CHANGE(leaked_count));
	ARRAY("deallocations", 0);
#undef CHANGE
}

struct err *route_timeline_leaked(struct request *request, struct reply *reply)
{
	const struct timeline_point *points;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;
	struct err *err;
	size_t count;

	dataset_lock(request->dataset);
	err = dataset_timeline(request->dataset, &points, &count);
	dataset_unlock(request->dataset);
	if (err)
		return err;
	json_init(&json, &buf, false);
	json_object(&json);
	put_leaked(&json, points, count);
	json_end(&json);
	return reply_whole(reply, &buf);
}

/*
 * The process's memory when it was sampled. The kernel's sums do not tell clean pages from changed
 * ones: anonymous and shared memory counts as changed, files as clean.
 */
static void put_memory(struct json_writer *json, const struct dataset *dataset)
{
	uint32_t count;
	const struct memory_sample *samples = recording_memory(dataset->recording, &count);

	json_field_text(json, "xs_unit", "ms");
	ARRAY("xs", (dataset->facts->start_realtime_ns + samples[i].time_ns) / 1000000);
	ARRAY("address_space", samples[i].virtual_size);
	ARRAY("rss", samples[i].resident);
	ARRAY("anonymous", samples[i].anonymous);
	ARRAY("dirty", samples[i].anonymous + samples[i].shared);
	ARRAY("clean", samples[i].file);
	ARRAY("swap", samples[i].swap);
}

struct err *route_timeline_maps(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;

	json_init(&json, &buf, false);
	json_object(&json);
	put_memory(&json, request->dataset);
	json_end(&json);
	return reply_whole(reply, &buf);
}

#undef ARRAY

static void put_end(struct json_writer *json, const char *key, const char *text_key,
		    uint64_t address)
{
	char text[24];

	json_field_u64(json, key, address);
	snprintf(text, sizeof(text), "%" PRIu64, address);
	json_field_text(json, text_key, text);
}

/* Finds the regions of the matching blocks. Call it under the lock. */
static struct err *find_regions(struct request *request, struct reply *reply,
				struct heap_region *whole, struct heap_region **regions,
				size_t *count)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	const uint32_t *order;
	struct err *err;

	err = request_select(request, reply, &selection);
	if (err || !selection)
		return err;
	err = recording_block_order(request->dataset->recording, BLOCK_ORDER_ADDRESS, &order);
	if (err)
		return err;
	return heap_regions_create(request->dataset->recording, selection->bits, order, whole,
				   regions, count);
}

struct err *route_regions(struct request *request, struct reply *reply)
{
	auto_free struct heap_region *regions = NULL;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct heap_region whole = {0};
	struct json_writer json;
	struct err *err;
	size_t count = 0;

	dataset_lock(request->dataset);
	err = find_regions(request, reply, &whole, &regions, &count);
	dataset_unlock(request->dataset);
	if (err || reply->status)
		return err;
	json_init(&json, &buf, false);
	json_object(&json);
	put_end(&json, "main_heap_start", "main_heap_start_s", whole.start);
	put_end(&json, "main_heap_end", "main_heap_end_s", whole.end);
	json_key(&json, "regions");
	json_array(&json);
	for (size_t i = 0; i < count; i++) {
		json_array(&json);
		json_u64(&json, regions[i].start);
		json_u64(&json, regions[i].end);
		json_end(&json);
	}
	json_end(&json);
	json_end(&json);
	return reply_whole(reply, &buf);
}
