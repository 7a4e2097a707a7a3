/* One request, from its target to its route's answer. */
#ifndef MALLOW_SERVER_HTTP_REQUEST_H
#define MALLOW_SERVER_HTTP_REQUEST_H

#include "analysis/diff/diff.h"
#include "analysis/filter/filter.h"
#include "analysis/filter/moment.h"
#include "server/data/catalog.h"
#include "server/http/pause.h"
#include "server/http/query.h"
#include "server/http/reply.h"

struct request;
struct route;

/*
 * Answers a request. Errors that are returned are the machine's. If the request is wrong, the route
 * answers by reply_refuse().
 */
typedef struct err *route_answer(struct request *request, struct reply *reply);

enum parameter_id {
#define PARAMETER(ID, GROUP, name, value, choices, text) PARAMETER_##ID,
#include "server/routes/parameter.def"
#undef PARAMETER
	PARAMETER_COUNTED,
};

/* What stands before the name of a condition, a moment or "id" that is of the side before. */
#define REQUEST_BEFORE "b."

struct request {
	struct catalog *catalog;
	struct pause *pause;
	struct query query;
	const struct route *route;
	char id[37];             /* the recording's, or "last"; "": the route has none */
	struct dataset *dataset; /* NULL: not open: request_open() */
	const char *rest;        /* the second part in <> of the route's path, or the ROUTE_NAME */
	/*
	 * A difference: what is asked for is how this request's answer differs from that one's,
	 * which has its own recording and conditions, and else the same. Owned; NULL: no
	 * difference is asked for.
	 */
	struct request *before;
	bool is_before; /* it is the side before of another one */
	struct filter *filter;
	struct buf filter_key; /* the conditions as text, for selection_find() */
	bool given[PARAMETER_COUNTED];
	unsigned int choices[PARAMETER_COUNTED]; /* index of the choice */
	uint64_t numbers[PARAMETER_COUNTED];     /* N, and INTERVAL in nanoseconds */
	struct moment moments[PARAMETER_COUNTED];
	const char *texts[PARAMETER_COUNTED]; /* NULL: not given */
};

/* Accepts a zeroed struct. */
void request_deinit(struct request *request);

/*
 * Opens the recording, and of a difference both, which can take seconds. If there is none, the
 * reply says so. Both are one data set if they are one recording. If they are two, and the route is
 * of ROUTE_COMMON, they are data sets of a pair.
 */
struct err *request_open(struct request *request, struct reply *reply);

/*
 * Refuses by an error, which is set free. One that is about the side before says so. NULL, and an
 * error that is the machine's: as reply_refuse_err().
 */
struct err *request_refuse_err(const struct request *request, struct reply *reply, struct err *err);

/*
 * Adds a condition to the filter. typed: the name with what stood before it. If the filter refuses
 * it, the reply says so.
 */
struct err *request_add_condition(struct request *request, const char *typed, const char *name,
				  const char *value, struct reply *reply);

/* Whether functions are written without template arguments. */
bool request_strips(const struct request *request);

/* How stacks are written. */
enum stack_form request_stack_form(const struct request *request);

/* Whether the order asked for is descending. standard: the answer if no order was given. */
bool request_descends(const struct request *request, bool standard);

/*
 * Puts numbers into the order asked for: by what key() says of each, and equal ones as the numbers
 * are, or the exact reverse of that. standard: as of request_descends().
 */
typedef uint64_t request_key(const void *argument, uint32_t number);
void request_sort(const struct request *request, uint32_t *numbers, uint64_t count,
		  request_key *key, const void *argument, bool standard);

/* The rows asked for, of total: [*first, *end). */
void request_page(const struct request *request, uint64_t total, uint64_t *first, uint64_t *end);

/*
 * *ret: the number of a parameter, from least to most; unchanged if it was not given. If it is out
 * of bounds, the reply says so.
 */
struct err *request_number(const struct request *request, struct reply *reply, enum parameter_id id,
			   uint64_t least, uint64_t most, uint32_t *ret);

/*
 * *ret: the moment of a parameter in nanoseconds since the start, within the run; standard if it
 * was not given. end: of a UNIX second its end counts. If the recording has no such moment, the
 * reply says so.
 */
struct err *request_moment(const struct request *request, struct reply *reply, enum parameter_id id,
			   bool end, uint64_t standard, uint64_t *ret);

/*
 * *ret: the blocks asked for, with a reference for the caller. NULL without an error: the filter
 * does not fit the recording, and the reply says so. Call it under the dataset's lock.
 */
struct err *request_select(struct request *request, struct reply *reply, struct selection **ret);

#endif
