/*
 * What the server can be asked for, and how a request becomes a reply. This file knows no socket.
 */
#ifndef MALLOW_SERVER_ROUTES_ROUTE_H
#define MALLOW_SERVER_ROUTES_ROUTE_H

#include "server/http/request.h"

/* Groups of parameter.def that a route takes, and whether it takes a filter. */
enum route_group {
	ROUTE_FILTER = 1,
	ROUTE_BLOCKS = 2,
	ROUTE_GROUPS = 4,
	ROUTE_PAGE = 8,
	ROUTE_STACKS = 16,
	ROUTE_PROFILE = 32,
	ROUTE_SERIES = 64,
	ROUTE_SPACE = 128,
	ROUTE_FLAME = 256,
	ROUTE_SUMS = 512,
	ROUTE_FRAMES = 1024,
	ROUTE_OPENS = 2048,  /* no parameters: the route itself opens the recording */
	ROUTE_CHANGE = 4096, /* conditions can have REQUEST_BEFORE in front, too */
	ROUTE_COMMON = 8192, /* no parameters: two recordings are put on common stacks (pairs.h) */
	ROUTE_SHOW = 16384,
	ROUTE_SITES = 32768,
	ROUTE_SOURCE = 65536,
	ROUTE_EVENTS = 131072,
	ROUTE_MAPS = 262144,
	ROUTE_MAP_FILTER = 524288, /* a filter of the conditions that mappings have */
	ROUTE_UNUSED = 1048576,
	ROUTE_UNSORTED = 2097152,
	ROUTE_CURVES = 8388608,
	ROUTE_REGIONS = 16777216,
	ROUTE_SCRIPTS = 4194304, /* is refused: bytehound's scripts are not run */
	ROUTE_LIST = 67108864,
	ROUTE_MOMENTS = 134217728,
	ROUTE_MERGED = 33554432, /* no parameters: sums of sites are enough, without blocks */
	ROUTE_NAMED = 268435456, /* no parameters: ROUTE_NAME may follow the path */
};

/* What browsers save an answer as. */
#define ROUTE_NAME "/<name>"

struct route {
	const char *path;
	unsigned int groups; /* enum route_group, combined */
	const char *type;    /* the Content-Type */
	const char *shape;   /* a type of answer.def */
	const char *text;
	route_answer *answer;
};

const struct route *routes(size_t *count);

struct parameter {
	const char *name, *value, *choices, *text;
	unsigned int group; /* of enum route_group */
};

/* Whether a route takes a condition. condition: index in filter_parameters(). */
bool route_has_condition(const struct route *route, size_t condition);

/* Refuses a request that wants one of bytehound's scripts to be run. */
struct err *route_refuse_scripts(struct reply *reply);

/* All parameters, by enum parameter_id. */
const struct parameter *parameters(size_t *count);

/*
 * Finds the route, the recording and the values of a request. Its query must be set. Sets
 * request->route, or, if the request is wrong, the reply. The error is the machine's.
 */
struct err *route_find(struct request *request, struct reply *reply);

#define ROUTE(id, path, groups, type, shape, text) route_answer route_##id;
#include "server/routes/route.def"
#undef ROUTE

#endif
