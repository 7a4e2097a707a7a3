#include "report/json/errors_json.h"

#include "analysis/errors/heap_errors.h"
#include "report/json/json_report.h"
#include "report/json/pools_json.h"
#include "report/text/errors_text.h"

static const char *const kinds[] = {
	[HEAP_ERROR_NEVER_ALLOCATED] = "never_allocated",
	[HEAP_ERROR_DOUBLE_FREE] = "double_free",
	[HEAP_ERROR_MISMATCH] = "mismatch",
};

static struct err *put_stack(struct json_writer *json, struct json_stacks *stacks, const char *key,
			     bool known, uint32_t stack)
{
	json_key(json, key);
	if (known)
		return json_stacks_put(stacks, json, stack);
	json_null(json);
	return NULL;
}

static void put_addresses(struct json_writer *json, const struct heap_error *error)
{
	json_field_array(json, "addresses");
	for (uint64_t i = 0; i < error->count && i < HEAP_ERROR_ADDRESSES; i++)
		json_hex(json, error->addresses[i]);
	json_end(json);
}

static struct err *put_error(struct json_writer *json, struct json_stacks *stacks,
			     const struct recording *recording, const struct heap_error *error)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(recording, &count);
	struct err *err;

	json_object(json);
	json_field_text(json, "kind", kinds[error->kind]);
	json_field_u64(json, "count", error->count);
	json_field_text(json, "freed_by", errors_text_function(error->release));
	json_field_text(json, "allocated_by",
			error->entry ? errors_text_function(error->entry) : NULL);
	put_addresses(json, error);
	json_key(json, "size");
	if (error->entry)
		json_u64(json, error->size);
	else
		json_null(json);
	json_field_u64(json, "offset", error->offset);
	json_field_double(json, "time_s", (double)error->time_ns / 1e9);
	json_field_u64(json, "thread", threads[error->thread].tid);
	err = put_stack(json, stacks, "free_stack", error->freed != RECORDING_NONE, error->freed);
	if (!err)
		err = put_stack(json, stacks, "first_free_stack",
				error->freed_once != RECORDING_NONE, error->freed_once);
	if (!err)
		err = put_stack(json, stacks, "allocation_stack", error->entry, error->allocated);
	if (!err)
		json_end(json);
	return err;
}

/*
 * Writes the frees of blocks that a pool of the program's own did not hold, or may not have held.
 */
static struct err *put_pool_errors(struct json_writer *json, struct json_stacks *stacks,
				   const struct recording *recording)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(recording, &count);
	struct err *err = NULL;

	json_field_array(json, "pool_errors");
	for (uint32_t i = 0; !err && i < count; i++) {
		const struct recorded_pool *pool = &pools[i];

		if (!pool->wrong_frees)
			continue;
		json_object(json);
		json_field_object(json, "pool");
		pools_json_name(json, pool);
		json_end(json);
		json_field_u64(json, "count", pool->wrong_frees);
		json_field_hex(json, "first", pool->wrong_address);
		err = put_stack(json, stacks, "free_stack", pool->wrong_stack != RECORDING_NONE,
				pool->wrong_stack);
		json_end(json);
	}
	json_end(json);
	return err;
}

struct err *errors_json_write(struct json_writer *json, struct json_stacks *stacks,
			      const struct recording *recording, uint32_t top)
{
	const struct recording_facts *facts = recording_facts(recording);
	uint32_t count;
	uint64_t unjudged;
	const struct heap_error *errors = recording_heap_errors(recording, &count, &unjudged);
	struct err *err = NULL;

	json_object(json);
	json_report_identity(json, facts);
	json_field_u64(json, "unjudged_frees", unjudged);
	json_field_u64(json, "error_count", count);
	json_field_array(json, "errors");
	for (uint32_t i = 0; !err && i < count && (!top || i < top); i++)
		err = put_error(json, stacks, recording, &errors[i]);
	if (err)
		return err;
	json_end(json);
	err = put_pool_errors(json, stacks, recording);
	if (!err)
		err = json_stacks_finish(stacks, json);
	if (!err)
		json_end(json);
	return err;
}
