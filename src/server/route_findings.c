/* /findings: the headline, and what stands out, as `mallow report --json` has them. */
#include "hosted/cleanup.h"
#include "report/json/findings_json.h"
#include "server/route.h"

/* Writes the answer. The data set is locked. */
static struct err *put_findings(struct json_writer *json, const struct dataset *dataset)
{
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};
	struct err *err;

	json_stacks_init(&stacks, dataset->recording, dataset->symbolized, false);
	json_object(json);
	err = findings_json_write(json, &stacks, dataset->recording, dataset->symbolized);
	if (!err)
		err = json_stacks_finish(&stacks, json);
	if (!err)
		json_end(json);
	return err;
}

struct err *route_findings(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct dataset *dataset = request->dataset;
	struct json_writer json;
	struct err *err;

	json_init(&json, &buf, false);
	dataset_lock(dataset);
	err = put_findings(&json, dataset);
	dataset_unlock(dataset);
	return err ? err : reply_whole(reply, &buf);
}
