/* /debug/pprof: the sums of the last recording, at the place where Go programs have theirs. */
#include <microhttpd.h>

#include "hosted/cleanup.h"
#include "report/export/pprof.h"
#include "server/routes/route.h"

#define SECONDS_MAX 3600u

/* Answers with a profile. since: only the changes since that; NULL: everything. */
static struct err *put_profile(struct dataset *dataset, const struct dataset *since,
			       struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	const struct pprof_options options = {
		.since = since ? since->recording : NULL,
		.samples = PPROF_SAMPLES,
	};
	struct err *err;

	dataset_lock(dataset);
	err = pprof_write(&buf, dataset->recording, dataset->symbolized, &options);
	dataset_unlock(dataset);
	if (!err)
		err = reply_whole(reply, &buf);
	// A profile is a compressed file already.
	reply->packed = true;
	return err;
}

/* Waits, and answers with what changed meanwhile. */
static struct err *put_changes(struct request *request, struct dataset *since, struct reply *reply)
{
	cleanup(dataset_release_at) struct dataset *then = NULL;
	uint64_t seconds = request->numbers[PARAMETER_SECONDS];
	struct err *err;

	if (!seconds || seconds > SECONDS_MAX)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'seconds': 1 to %u are possible", SECONDS_MAX);
	if (!since->facts->writing)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'seconds': the recording is not being written, so "
				    "nothing will change");
	if (!pause_wait(request->pause, seconds))
		return reply_refuse(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "the server ends");
	err = catalog_find(request->catalog, since->facts->id, &then);
	if (!err && !then)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "data not found");
	return err ? err : put_profile(then, since, reply);
}

struct err *route_pprof(struct request *request, struct reply *reply)
{
	cleanup(dataset_release_at) struct dataset *dataset = NULL;
	struct err *err = catalog_find(request->catalog, "last", &dataset);

	if (err)
		return err;
	if (!dataset)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "data not found");
	if (request->given[PARAMETER_SECONDS])
		return put_changes(request, dataset, reply);
	return put_profile(dataset, NULL, reply);
}
