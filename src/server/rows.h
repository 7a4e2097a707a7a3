/* The rows of a page of blocks, in the order asked for. */
#ifndef MALLOW_SERVER_ROWS_H
#define MALLOW_SERVER_ROWS_H

#include "server/request.h"
#include "server/selection.h"

struct rows {
	uint32_t *chosen; /* all rows of the page; NULL: `walk` finds them */
	uint64_t next;    /* of these */
	struct block_cursor walk;
	uint64_t left; /* rows of the page that were not handed out */
};

/*
 * Under the lock. The page of the selection that the request asks for; the selection must outlive
 * it.
 */
struct err *rows_begin(struct request *request, struct selection *selection, struct rows *ret);
/* Accepts a zeroed struct. */
void rows_deinit(struct rows *rows);

/* false: that was the last. */
bool rows_next(struct rows *rows, uint64_t *ret);

#endif
