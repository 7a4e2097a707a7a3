#include "server/page/ask.h"

#include "hosted/cleanup.h"
#include "server/routes/route.h"

static struct err *read_all(struct body *body, struct buf *buf)
{
	for (;;) {
		char *room = buf_room(buf, BODY_PIECE);
		ssize_t got = room ? body_read(body, room, BODY_PIECE) : 0;

		if (got < 0)
			return err_create(
				"an answer could not be made: no memory, or its file changed");
		if (got == 0)
			return NULL;
		buf->size += (size_t)got;
	}
}

struct err *ask(struct catalog *catalog, const char *target, struct buf *buf, unsigned int *status)
{
	cleanup(request_deinit) struct request request = {.catalog = catalog};
	cleanup(reply_deinit) struct reply reply = {0};
	struct err *err;

	buf_init(&request.filter_key);
	err = reply_refuse_err(&reply, query_parse(target, &request.query));
	if (!err && !reply.status)
		err = route_find(&request, &reply);
	if (!err && !reply.status)
		err = request.route->answer(&request, &reply);
	if (err)
		return err;
	*status = reply.status;
	return read_all(reply.body, buf);
}
