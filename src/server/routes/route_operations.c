/* /mmaps, /mallopts and /backtrace: what the program asked of the system, and stacks by their id.
 */
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "server/answers/rest_json.h"
#include "server/routes/route.h"

#ifndef MAP_UNINITIALIZED
#define MAP_UNINITIALIZED 0x4000000
#endif
#define MAP_GROWSUP_ELSEWHERE 0x0200 /* only on parisc and ia64 */
#define PROT_SEM_OF_LINUX     0x8

/* How far a list of operations is written. */
struct operations {
	struct dataset *dataset;
	uint32_t at;
	enum stack_form form;
	bool strip;
	bool begun;
	struct json_writer json;
};

static void drop_operations(void *state)
{
	struct operations *operations = state;

	dataset_release(operations->dataset);
	free(operations);
}

static struct err *begin_operations(struct request *request, struct reply *reply, body_make *make)
{
	struct operations *operations = calloc(1, sizeof(*operations));

	if (!operations)
		return err_no_memory();
	operations->dataset = dataset_hold(request->dataset);
	operations->form = request_stack_form(request);
	operations->strip = request_strips(request);
	return reply_pieces(reply, make, operations, drop_operations);
}

static void put_moment(struct json_writer *json, const struct operations *operations,
		       uint64_t time_ns)
{
	rest_json_field_time(json, "timestamp",
			     operations->dataset->facts->start_realtime_ns + time_ns);
}

static struct err *put_stack(struct json_writer *json, const struct operations *operations,
			     uint32_t stack)
{
	json_field_u64(json, "backtrace_id", stack);
	return dataset_field_stack(operations->dataset, json, stack, operations->form,
				   operations->strip);
}

/*
 * Writes a pointer the way clients know it: _s is decimal here, unlike the _s of other addresses.
 */
static void put_pointer(struct json_writer *json, const char *key, const char *text_key,
			uint64_t pointer)
{
	char text[24];

	json_field_u64(json, key, pointer);
	snprintf(text, sizeof(text), "%016" PRIu64, pointer);
	json_field_text(json, text_key, text);
}

static void put_flags(struct json_writer *json, const struct mapping_operation *operation)
{
	uint32_t protection = operation->protection, flags = operation->flags;

	rest_json_field_access(json, operation);
	json_field_bool(json, "is_semaphore", protection & PROT_SEM_OF_LINUX);
	json_field_bool(json, "grows_down", flags & MAP_GROWSDOWN);
	json_field_bool(json, "grows_up", flags & MAP_GROWSUP_ELSEWHERE);
	json_field_bool(json, "is_shared", flags & MAP_SHARED);
	json_field_bool(json, "is_private", flags & MAP_PRIVATE);
	json_field_bool(json, "is_fixed", flags & MAP_FIXED);
	json_field_bool(json, "is_anonymous", flags & MAP_ANONYMOUS);
	json_field_bool(json, "is_uninitialized", flags & MAP_UNINITIALIZED);
}

static struct err *put_mapping(struct json_writer *json, const struct operations *operations,
			       const struct mapping_operation *operation)
{
	bool maps = operation->kind == TRACE_RECORD_MMAP;
	struct err *err;

	json_object(json);
	json_key(json, maps ? "mmap" : "munmap");
	json_object(json);
	put_moment(json, operations, operation->time_ns);
	put_pointer(json, "pointer", "pointer_s", operation->address);
	json_field_u64(json, "length", operation->length);
	err = put_stack(json, operations, operation->stack);
	if (maps) {
		put_pointer(json, "requested_address", "requested_address_s", operation->requested);
		put_flags(json, operation);
		json_field_u64(json, "offset", operation->offset);
		json_field_i64(json, "file_descriptor", operation->fd);
	}
	rest_json_field_thread(json, operations->dataset->recording, operation->thread);
	json_end(json);
	json_end(json);
	return err;
}

static struct err *make_mmaps(void *state, struct buf *buf, bool *done)
{
	struct operations *operations = state;
	struct json_writer *json = &operations->json;
	struct err *err = NULL;
	uint32_t count;
	const struct mapping_operation *all =
		recording_mappings(operations->dataset->recording, &count);

	if (!operations->begun) {
		json_init(json, buf, false);
		json_object(json);
		json_key(json, "operations");
		json_array(json);
		operations->begun = true;
	}
	dataset_lock(operations->dataset);
	for (; !err && operations->at < count && buf->size < BODY_PIECE; operations->at++) {
		const struct mapping_operation *operation = &all[operations->at];

		if (operation->kind == TRACE_RECORD_MMAP || operation->kind == TRACE_RECORD_MUNMAP)
			err = put_mapping(json, operations, operation);
	}
	dataset_unlock(operations->dataset);
	*done = operations->at == count;
	if (*done) {
		json_end(json);
		json_end(json);
	}
	return err;
}

struct err *route_mmaps(struct request *request, struct reply *reply)
{
	return begin_operations(request, reply, make_mmaps);
}

/* The name of a parameter. NULL: glibc documents none. */
static const char *parameter_name(int32_t parameter)
{
	static const char *const names[] = {
		"M_TRIM_THRESHOLD", "M_TOP_PAD", "M_MMAP_THRESHOLD", "M_MMAP_MAX",
		"M_CHECK_ACTION",   "M_PERTURB", "M_ARENA_TEST",     "M_ARENA_MAX",
	};
	int64_t index = -(int64_t)parameter - 1;

	return index >= 0 && index < (int64_t)(ARRAY_COUNT(names)) ? names[index] : NULL;
}

static struct err *make_mallopts(void *state, struct buf *buf, bool *done)
{
	struct operations *operations = state;
	struct json_writer *json = &operations->json;
	struct err *err = NULL;
	uint32_t count;
	const struct mallopt_operation *all =
		recording_mallopts(operations->dataset->recording, &count);

	if (!operations->begun) {
		json_init(json, buf, false);
		json_array(json);
		operations->begun = true;
	}
	dataset_lock(operations->dataset);
	for (; !err && operations->at < count && buf->size < BODY_PIECE; operations->at++) {
		const struct mallopt_operation *operation = &all[operations->at];

		json_object(json);
		put_moment(json, operations, operation->time_ns);
		rest_json_field_thread(json, operations->dataset->recording, operation->thread);
		err = put_stack(json, operations, operation->stack);
		json_field_i64(json, "raw_param", operation->parameter);
		json_field_text(json, "param", parameter_name(operation->parameter));
		json_field_i64(json, "value", operation->value);
		json_field_i64(json, "result", operation->result);
		json_end(json);
	}
	dataset_unlock(operations->dataset);
	*done = operations->at == count;
	if (*done)
		json_end(json);
	return err;
}

struct err *route_mallopts(struct request *request, struct reply *reply)
{
	return begin_operations(request, reply, make_mallopts);
}

struct err *route_backtrace(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;
	unsigned long long id;
	struct err *err;
	uint32_t count;
	char *end;

	recording_stacks(request->dataset->recording, &count);
	errno = 0;
	id = strtoull(request->rest, &end, 10);
	if (*request->rest < '0' || *request->rest > '9' || *end || errno ||
	    (id >= count && id != RECORDING_NONE))
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "backtrace not found");
	json_init(&json, &buf, false);
	json_object(&json);
	json_key(&json, "frames");
	dataset_lock(request->dataset);
	err = dataset_put_stack(request->dataset, &json, (uint32_t)id, request_strips(request));
	json_key(&json, "plumbing");
	if (!err)
		err = frame_json_put_plumbing(&request->dataset->frames[0], &json, (uint32_t)id);
	dataset_unlock(request->dataset);
	json_end(&json);
	return err ? err : reply_whole(reply, &buf);
}
