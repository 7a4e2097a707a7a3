/* /metrics: what is live now, for Prometheus; /healthz: whether there is an answer at all. */
#include <microhttpd.h>

#include "hosted/cleanup.h"
#include "hosted/proc.h"
#include "server/data/profile_source.h"
#include "server/routes/route.h"

static struct err *put_metrics(void *argument, const struct profile_look *look)
{
	return prometheus_write(argument, look->recording, look->symbolized, look->facts);
}

/* The last recording of the list. */
static struct err *put_last(struct request *request, struct reply *reply, struct buf *buf)
{
	cleanup(dataset_release_at) struct dataset *dataset = NULL;
	struct err *err = catalog_find(request->catalog, "last", &dataset);
	struct process_memory memory;

	if (err)
		return err;
	if (!dataset)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "data not found");

	const struct prometheus_facts facts = {
		.processes = dataset->facts->alive,
		.resident =
			dataset->facts->alive && process_memory_read(dataset->facts->pid, &memory)
				? memory.resident
				: 0,
	};

	dataset_lock(dataset);
	err = prometheus_write(buf, dataset->recording, dataset->symbolized, &facts);
	dataset_unlock(dataset);
	return err;
}

struct err *route_metrics(struct request *request, struct reply *reply)
{
	const struct profile_source *source = catalog_options(request->catalog)->profiles;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;
	bool any = true;

	err = source ? source->look(source->argument, put_metrics, &buf, &any)
		     : put_last(request, reply, &buf);
	if (err || reply->status)
		return err;
	return any ? reply_whole(reply, &buf)
		   : reply_refuse(reply, MHD_HTTP_SERVICE_UNAVAILABLE, "no program runs yet");
}

struct err *route_healthz(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	buf_text(&buf, "ok\n");
	return reply_whole(reply, &buf);
}
