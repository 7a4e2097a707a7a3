/*
 * /export/heaptrack and /export/replay: a recording in other tools' file formats, written in
 * pieces.
 */
#include <stdlib.h>

#include "report/export/heaptrack_export.h"
#include "report/export/replay_export.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

/* What is left to be written, for one of the two formats. */
struct writing {
	struct dataset *dataset;
	struct selection *selection;
	struct heaptrack_export *heaptrack;
	struct replay_export *replay;
};

static void drop_writing(void *state)
{
	struct writing *writing = state;

	heaptrack_export_destroy(writing->heaptrack);
	replay_export_destroy(writing->replay);
	selection_release(writing->selection);
	dataset_release(writing->dataset);
	free(writing);
}

static struct err *make_heaptrack(void *state, struct buf *buf, bool *done)
{
	struct writing *writing = state;
	struct err *err;

	dataset_lock(writing->dataset);
	err = heaptrack_export_more(writing->heaptrack, buf, done);
	dataset_unlock(writing->dataset);
	return err;
}

/* Needs no lock: it looks up no names. */
static struct err *make_replay(void *state, struct buf *buf, bool *done)
{
	return replay_export_more(((struct writing *)state)->replay, buf, done);
}

/* Begins an export. Call it under the lock. */
static struct err *begin(struct request *request, struct reply *reply, bool replay,
			 struct writing *writing)
{
	struct err *err = request_select(request, reply, &writing->selection);
	const struct filter_match *match;

	if (err || !writing->selection)
		return err;
	match = writing->selection->bits ? &writing->selection->match : NULL;
	if (replay)
		return replay_export_create(writing->dataset->recording, match, &writing->replay);
	return heaptrack_export_create(writing->dataset->symbolized, match, &writing->heaptrack);
}

static struct err *answer(struct request *request, struct reply *reply, bool replay)
{
	struct writing *writing = calloc(1, sizeof(*writing));
	struct err *err;

	if (!writing)
		return err_no_memory();
	writing->dataset = dataset_hold(request->dataset);
	dataset_lock(writing->dataset);
	err = begin(request, reply, replay, writing);
	dataset_unlock(writing->dataset);
	if (err || !writing->selection) {
		drop_writing(writing);
		return err;
	}
	return reply_pieces(reply, replay ? make_replay : make_heaptrack, writing, drop_writing);
}

struct err *route_heaptrack(struct request *request, struct reply *reply)
{
	return answer(request, reply, false);
}

struct err *route_replay(struct request *request, struct reply *reply)
{
	return answer(request, reply, true);
}
