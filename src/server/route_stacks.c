/* /stacks: the stacks of all sites at once, which share their outer frames. */
#include "hosted/cleanup.h"
#include "report/json/json_stacks.h"
#include "server/route.h"

/* Writes the answer. The data set is locked. */
static struct err *put_stacks(struct json_writer *json, const struct dataset *dataset)
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

struct err *route_stacks(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct dataset *dataset = request->dataset;
	struct json_writer json;
	struct err *err;

	json_init(&json, &buf, false);
	dataset_lock(dataset);
	err = put_stacks(&json, dataset);
	dataset_unlock(dataset);
	return err ? err : reply_whole(reply, &buf);
}
