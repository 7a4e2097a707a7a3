/* One request, from its target to what its route answers. */
#ifndef MALLOW_SERVER_REQUEST_H
#define MALLOW_SERVER_REQUEST_H

#include "analysis/filter/filter.h"
#include "server/catalog.h"
#include "server/pause.h"
#include "server/query.h"
#include "server/reply.h"

struct request;
struct route;

/*
 * Answers a request. An error is one of the machine; what is wrong with the request is said by
 * reply_refuse().
 */
typedef struct err *route_answer(struct request *request, struct reply *reply);

enum parameter_id {
#define PARAMETER(ID, GROUP, name, value, choices, text) PARAMETER_##ID,
#include "server/parameter.def"
#undef PARAMETER
	PARAMETER_COUNTED,
};

struct request {
	struct catalog *catalog;
	struct pause *pause;
	struct query query;
	const struct route *route;
	struct dataset *dataset; /* NULL: the route is of none */
	const char *rest;        /* the second part in <> of its path */
	struct filter *filter;
	struct buf filter_key; /* the conditions, as selection_find() wants them */
	bool given[PARAMETER_COUNTED];
	unsigned int choices[PARAMETER_COUNTED]; /* which of the choices */
	uint64_t numbers[PARAMETER_COUNTED];
};

/* Accepts a zeroed struct. */
void request_deinit(struct request *request);

/* Whether functions are to be without template arguments. */
bool request_strips(const struct request *request);

/* Whether the order asked for is dsc; standard: where none was. */
bool request_descends(const struct request *request, bool standard);

/* Which of total rows are asked for: [*first, *end). */
void request_page(const struct request *request, uint64_t total, uint64_t *first, uint64_t *end);

/*
 * Under the dataset's lock. The blocks asked for. NULL without an error: the filter does not fit
 * the recording, and the reply says so.
 */
struct err *request_select(struct request *request, struct reply *reply, struct selection **ret);

#endif
