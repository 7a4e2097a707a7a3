/* /debug/pprof: the sums of the last recording, at the place where Go programs have theirs. */
#include <microhttpd.h>

#include "analysis/sites/site_ledger.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
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

/* If the request asks for more seconds than there can be, or none, the reply says so. */
static struct err *check_seconds(const struct request *request, struct reply *reply)
{
	uint64_t seconds = request->numbers[PARAMETER_SECONDS];

	return seconds && seconds <= SECONDS_MAX
		       ? NULL
		       : reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				      "invalid 'seconds': 1 to %u are possible", SECONDS_MAX);
}

/* Waits as long as the request says. If it cannot, the reply says why. */
static struct err *wait_seconds(struct request *request, struct reply *reply)
{
	return pause_wait(request->pause, request->numbers[PARAMETER_SECONDS])
		       ? NULL
		       : reply_refuse(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "the server ends");
}

/* Waits, and answers with what changed meanwhile. */
static struct err *put_changes(struct request *request, struct dataset *since, struct reply *reply)
{
	cleanup(dataset_release_at) struct dataset *then = NULL;
	struct err *err = check_seconds(request, reply);

	if (err || reply->status)
		return err;
	if (!since->facts->writing)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'seconds': the recording is not being written, so "
				    "nothing will change");
	err = wait_seconds(request, reply);
	if (err || reply->status)
		return err;
	err = catalog_find(request->catalog, since->facts->id, &then);
	if (!err && !then)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "data not found");
	return err ? err : put_profile(then, since, reply);
}

/* A profile of running processes, or of how they change. */
struct looking {
	struct buf buf;
	struct site_ledger then;
	uint64_t then_ns; /* 0: a profile of all */
};

static void looking_deinit(struct looking *looking)
{
	buf_deinit(&looking->buf);
	site_ledger_deinit(&looking->then);
}

static struct err *note_sums(void *argument, const struct profile_look *look)
{
	struct looking *looking = argument;

	looking->then_ns = now_ns();
	return site_ledger_join(&looking->then, look->sums);
}

static struct err *write_look(void *argument, const struct profile_look *look)
{
	struct looking *looking = argument;
	bool change = looking->then_ns;
	auto_free struct site *sites = NULL;
	struct site ended;
	struct err *err =
		site_ledger_since(look->sums, &looking->then, look->recording, look->symbolized,
				  change ? SITE_SINCE_ALL : SITE_SINCE_ALLOCATED, &sites, &ended);
	const struct pprof_options options = {
		.samples = PPROF_SAMPLES,
		.sites = sites,
		.ended = &ended,
		.duration_ns = change ? now_ns() - looking->then_ns : 0,
	};

	return err ? err : pprof_write(&looking->buf, look->recording, look->symbolized, &options);
}

static struct err *put_looks(struct request *request, const struct profile_source *source,
			     struct reply *reply)
{
	cleanup(looking_deinit) struct looking looking = {.buf = BUF_EMPTY};
	struct err *err = NULL;
	bool any;

	if (request->given[PARAMETER_SECONDS]) {
		err = check_seconds(request, reply);
		if (err || reply->status)
			return err;
		err = source->look(source->argument, note_sums, &looking, &any);
		if (!err)
			err = wait_seconds(request, reply);
	}
	if (err || reply->status)
		return err;
	err = source->look(source->argument, write_look, &looking, &any);
	if (err)
		return err;
	if (!any)
		return reply_refuse(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "no program runs yet");
	err = reply_whole(reply, &looking.buf);
	reply->packed = true;
	return err;
}

struct err *route_pprof(struct request *request, struct reply *reply)
{
	const struct profile_source *source = catalog_options(request->catalog)->profiles;

	if (source)
		return put_looks(request, source, reply);

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
