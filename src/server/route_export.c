/* /export/heaptrack: a recording in the file formats of other tools, piece by piece. */
#include <stdlib.h>

#include "report/export/heaptrack_export.h"
#include "server/route.h"
#include "server/selection.h"

/* What is left to be written. */
struct writing {
	struct dataset *dataset;
	struct selection *selection;
	struct heaptrack_export *export;
};

static void drop_writing(void *state)
{
	struct writing *writing = state;

	heaptrack_export_destroy(writing->export);
	selection_release(writing->selection);
	dataset_release(writing->dataset);
	free(writing);
}

static struct err *make_piece(void *state, struct buf *buf, bool *done)
{
	struct writing *writing = state;
	struct err *err;

	dataset_lock(writing->dataset);
	err = heaptrack_export_more(writing->export, buf, done);
	dataset_unlock(writing->dataset);
	return err;
}

/* Under the lock. */
static struct err *begin(struct request *request, struct reply *reply, struct writing *writing)
{
	struct err *err = request_select(request, reply, &writing->selection);

	if (err || !writing->selection)
		return err;
	return heaptrack_export_create(writing->dataset->symbolized,
				       writing->selection->bits ? &writing->selection->match : NULL,
				       &writing->export);
}

struct err *route_heaptrack(struct request *request, struct reply *reply)
{
	struct writing *writing = calloc(1, sizeof(*writing));
	struct err *err;

	if (!writing)
		return err_no_memory();
	writing->dataset = dataset_hold(request->dataset);
	dataset_lock(writing->dataset);
	err = begin(request, reply, writing);
	dataset_unlock(writing->dataset);
	if (err || !writing->export) {
		drop_writing(writing);
		return err;
	}
	return reply_pieces(reply, make_piece, writing, drop_writing);
}
