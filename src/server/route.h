/* What the server can be asked for, and how a request becomes a reply. Knows no socket. */
#ifndef MALLOW_SERVER_ROUTE_H
#define MALLOW_SERVER_ROUTE_H

#include "server/request.h"

/* What of parameter.def a route takes, and whether a filter. */
enum route_group {
	ROUTE_FILTER = 1,
	ROUTE_BLOCKS = 2,
	ROUTE_GROUPS = 4,
	ROUTE_PAGE = 8,
	ROUTE_STACKS = 16,
	ROUTE_PROFILE = 32,
};

struct route {
	const char *path;
	unsigned int groups; /* of enum route_group */
	const char *type;    /* HTTP's, of its content */
	const char *shape;   /* for answer_schema_put() */
	const char *text;
	route_answer *answer;
};

const struct route *routes(size_t *count);

struct parameter {
	const char *name, *value, *choices, *text;
	unsigned int group; /* of enum route_group */
};

/* By enum parameter_id. */
const struct parameter *parameters(size_t *count);

/*
 * Finds the route, the recording and the values of a request, whose query is set already. Where
 * that fails the reply says why; else request->route is set. The error is one of the machine.
 */
struct err *route_find(struct request *request, struct reply *reply);

#define ROUTE(id, path, groups, type, shape, text) route_answer route_##id;
#include "server/route.def"
#undef ROUTE

#endif
