/* The rows of a page of blocks, in the order that the request asks for. */
#ifndef MALLOW_SERVER_ANSWERS_ROWS_H
#define MALLOW_SERVER_ANSWERS_ROWS_H

#include "server/http/request.h"
#include "server/data/selection.h"

struct rows {
	uint32_t *chosen; /* the rows of the page; NULL: `walk` finds them */
	uint64_t next;    /* index into chosen */
	struct block_cursor walk;
	uint64_t left; /* how many rows of the page are left */
};

/*
 * Begins the page that the request asks for. The selection must outlive it. Call it under the lock.
 */
struct err *rows_begin(struct request *request, struct selection *selection, struct rows *ret);
/* Accepts a zeroed struct. */
void rows_deinit(struct rows *rows);

/* *ret: the next row. false: there is none left. */
bool rows_next(struct rows *rows, uint64_t *ret);

#endif
