/* /timeline and its kin, and /fragmentation_timeline: memory over time. */
#include "hosted/cleanup.h"
#include "server/routes/route.h"

/* Writes an array of `count` values, each made of its index i. */
#define ARRAY(key, put, value)                                                                     \
	json_key(json, key);                                                                       \
	json_array(json);                                                                          \
	for (size_t i = 0; i < count; i++)                                                         \
		put(json, value);                                                                  \
	json_end(json)

static void put_live(struct json_writer *json, const struct timeline_point *points, size_t count)
{
	json_field_text(json, "xs_unit", "s");
	ARRAY("xs", json_u64, points[i].unix_s);
	ARRAY("size_delta", json_i64, points[i].size_delta);
	ARRAY("count_delta", json_i64, points[i].count_delta);
	ARRAY("allocated_size", json_u64, points[i].size);
	ARRAY("allocated_count", json_u64, points[i].count);
	ARRAY("leaked_size", json_u64, points[i].leaked_size);
	ARRAY("leaked_count", json_u64, points[i].leaked_count);
	ARRAY("allocations", json_u64, points[i].allocated);
	ARRAY("deallocations", json_u64, points[i].freed);
}

static void put_fragmentation(struct json_writer *json, const struct timeline_point *points,
			      size_t count)
{
	json_field_text(json, "xs_unit", "s");
	ARRAY("xs", json_u64, points[i].unix_s);
	ARRAY("fragmentation", json_u64, points[i].fragmentation);
}

/*
 * What was never freed, as if there were nothing else. Times are milliseconds here, as in bytehound
 * 0.11; /timeline has seconds, as bytehound had before.
 */
static void put_leaked(struct json_writer *json, const struct timeline_point *points, size_t count)
{
#define CHANGE(member) (points[i].member - (i ? points[i - 1].member : 0))
	json_field_text(json, "xs_unit", "ms");
	ARRAY("xs", json_u64, points[i].unix_s * 1000);
	ARRAY("size_delta", json_u64, CHANGE(leaked_size));
	ARRAY("count_delta", json_u64, CHANGE(leaked_count));
	ARRAY("allocated_size", json_u64, points[i].leaked_size);
	ARRAY("allocated_count", json_u64, points[i].leaked_count);
	ARRAY("allocations", json_u64, CHANGE(leaked_count));
	ARRAY("deallocations", json_u64, 0);
#undef CHANGE
}

static struct err *answer_points(struct request *request, struct reply *reply,
				 void put(struct json_writer *, const struct timeline_point *,
					  size_t))
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
	put(&json, points, count);
	json_end(&json);
	return reply_whole(reply, &buf);
}

struct err *route_timeline(struct request *request, struct reply *reply)
{
	return answer_points(request, reply, put_live);
}

struct err *route_timeline_leaked(struct request *request, struct reply *reply)
{
	return answer_points(request, reply, put_leaked);
}

struct err *route_fragmentation_timeline(struct request *request, struct reply *reply)
{
	return answer_points(request, reply, put_fragmentation);
}

/*
 * The process's memory when it was sampled. The kernel's sums do not tell clean pages from changed
 * ones: anonymous and shared memory counts as changed, files as clean.
 */
struct err *route_timeline_maps(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer writer, *json = &writer;
	const struct dataset *dataset = request->dataset;
	uint32_t count;
	const struct memory_sample *samples = recording_memory(dataset->recording, &count);

	json_init(json, &buf, false);
	json_object(json);
	json_field_text(json, "xs_unit", "ms");
	ARRAY("xs", json_u64, (dataset->facts->start_realtime_ns + samples[i].time_ns) / 1000000);
	ARRAY("address_space", json_u64, samples[i].virtual_size);
	ARRAY("rss", json_u64, samples[i].resident);
	ARRAY("anonymous", json_u64, samples[i].anonymous);
	ARRAY("dirty", json_u64, samples[i].anonymous + samples[i].shared);
	ARRAY("clean", json_u64, samples[i].file);
	ARRAY("swap", json_u64, samples[i].swap);
	json_end(json);
	return reply_whole(reply, &buf);
}
