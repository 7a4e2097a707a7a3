/*
 * /events: server-sent events (HTML Living Standard, 9.2), for a page that waits for a recording,
 * or follows it while it is being written:
 *
 *	progress how much of a recording is read, while it is being read
 *	changed  the recording has new events
 *	ended    it will not grow any more
 *	list     /list has other recordings than before
 *
 * Each stream has the thread of its connection, which sleeps between its looks. A look at a
 * recording reads what came since the last one: what the next request would read otherwise.
 */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/json_writer.h"
#include "server/routes/route.h"

#define LOOK_S  1  /* between two looks */
#define QUIET_S 10 /* after which a comment is sent, by which a client that is gone is noticed */

struct events {
	struct catalog *catalog;
	struct pause *pause;
	char id[37]; /* "": only the list is looked at */
	bool begun;
	bool looked;
	bool known; /* the next three are known */
	bool writing;
	uint64_t events;
	uint64_t duration_ns;
	size_t listed;
	unsigned int quiet_s;
};

static void drop_events(void *state)
{
	struct events *events = state;

	catalog_unlisten(events->catalog);
	free(events);
}

static void put_event(struct buf *buf, const char *name, const struct dataset *dataset)
{
	struct json_writer json;

	buf_printf(buf, "event: %s\ndata: ", name);
	json_init(&json, buf, false);
	json_object(&json);
	if (dataset) {
		json_field_text(&json, "id", dataset->facts->id);
		json_field_u64(&json, "end_ns", dataset->facts->duration_ns);
		json_field_u64(&json, "events", dataset->facts->events);
		json_field_u64(&json, "live_bytes",
			       recording_summary(dataset->recording)->live_bytes);
	}
	json_end(&json);
	buf_text(buf, "\n\n");
}

/* Sends what is new in a recording. One that cannot be read now is asked for again at the next
 * look. */
static void look_at(struct events *events, struct buf *buf)
{
	struct dataset *dataset = NULL;
	struct err *err = catalog_find(events->catalog, events->id, &dataset);
	const struct recording_facts *facts;

	err_destroy(err);
	if (!dataset)
		return;
	facts = dataset->facts;
	if (events->known &&
	    (facts->events != events->events || facts->duration_ns != events->duration_ns))
		put_event(buf, "changed", dataset);
	if (!facts->writing && (events->writing || !events->known))
		put_event(buf, "ended", dataset);
	events->known = true;
	events->writing = facts->writing;
	events->events = facts->events;
	events->duration_ns = facts->duration_ns;
	dataset_release(dataset);
}

/* A catalog_reading. argument: the buffer. */
static void put_progress(void *argument, const char *id, uint64_t done, uint64_t total)
{
	struct json_writer json;
	struct buf *buf = argument;

	buf_text(buf, "event: progress\ndata: ");
	json_init(&json, buf, false);
	json_object(&json);
	json_field_text(&json, "id", id);
	json_field_u64(&json, "done", done);
	json_field_u64(&json, "total", total);
	json_end(&json);
	buf_text(buf, "\n\n");
}

static struct err *make_events(void *state, struct buf *buf, bool *done)
{
	struct events *events = state;
	size_t listed;

	if (!events->begun) {
		events->begun = true;
		events->listed = catalog_count(events->catalog);
		buf_text(buf, "retry: 2000\n\n");
		return NULL;
	}
	if (events->looked) // the first look is at once
		*done = !pause_wait(events->pause, LOOK_S);
	events->looked = true;
	if (*done)
		return NULL;
	catalog_readings(events->catalog, put_progress, buf);
	listed = catalog_count(events->catalog);
	if (listed != events->listed)
		put_event(buf, "list", NULL);
	events->listed = listed;
	if (events->id[0] && (events->writing || !events->known))
		look_at(events, buf);
	events->quiet_s = buf->size ? 0 : events->quiet_s + LOOK_S;
	if (events->quiet_s >= QUIET_S) {
		buf_text(buf, ": nothing new\n\n");
		events->quiet_s = 0;
	}
	return NULL;
}

struct err *route_events(struct request *request, struct reply *reply)
{
	cleanup(dataset_release_at) struct dataset *dataset = NULL;
	const char *id = request->texts[PARAMETER_EVENTS_ID];
	struct events *events;
	struct err *err = NULL;

	if (id && strlen(id) < sizeof(events->id))
		err = catalog_find(request->catalog, id, &dataset);
	if (err)
		return err;
	if (id && !dataset)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND,
				    "data not found: no recording has the id '%s'", id);
	if (!catalog_listen(request->catalog))
		return reply_refuse(reply, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "%d clients follow events already", CATALOG_LISTENERS);
	events = calloc(1, sizeof(*events));
	if (!events) {
		catalog_unlisten(request->catalog);
		return err_no_memory();
	}
	events->catalog = request->catalog;
	events->pause = request->pause;
	if (id)
		strcpy(events->id, id);
	err = reply_pieces(reply, make_events, events, drop_events);
	reply->packed = true; // a compressor would keep what it should send
	return err;
}
