#include "server/routes/route.h"

#include <microhttpd.h>
#include <string.h>

#include "analysis/filter/filter_maps.h"
#include "base/compiler.h"
#include "report/export/prometheus.h"

#define FILTER     ROUTE_FILTER
#define BLOCKS     ROUTE_BLOCKS
#define GROUPS     ROUTE_GROUPS
#define PAGE       ROUTE_PAGE
#define STACKS     ROUTE_STACKS
#define PROFILE    ROUTE_PROFILE
#define FLAME      ROUTE_FLAME
#define SERIES     ROUTE_SERIES
#define SPACE      ROUTE_SPACE
#define SUMS       ROUTE_SUMS
#define OPENS      ROUTE_OPENS
#define FRAMES     ROUTE_FRAMES
#define CHANGE     ROUTE_CHANGE
#define COMMON     ROUTE_COMMON
#define SHOW       ROUTE_SHOW
#define SITES      ROUTE_SITES
#define SOURCE     ROUTE_SOURCE
#define EVENTS     ROUTE_EVENTS
#define LIST       ROUTE_LIST
#define MAPS       ROUTE_MAPS
#define MAP_FILTER ROUTE_MAP_FILTER
#define UNUSED     ROUTE_UNUSED
#define UNSORTED   ROUTE_UNSORTED
#define SCRIPTS    ROUTE_SCRIPTS
#define CURVES     ROUTE_CURVES
#define REGIONS    ROUTE_REGIONS
#define MOMENTS    ROUTE_MOMENTS
#define MERGED     ROUTE_MERGED
#define NAMED      ROUTE_NAMED
#define JSON       "application/json"
#define TEXT       "text/plain; charset=utf-8"
#define CSV        "text/csv; charset=utf-8"
#define HTML       "text/html; charset=utf-8"
#define SVG        "image/svg+xml"
#define STREAM     "text/event-stream"
#define METRICS    PROMETHEUS_CONTENT_TYPE
#define BYTES      "application/octet-stream"

static const struct route route_table[] = {
#define ROUTE(id, path, groups, type, shape, text) {path, groups, type, shape, text, route_##id},
#include "server/routes/route.def"
#undef ROUTE
};

static const struct parameter parameter_table[] = {
#define PARAMETER(ID, GROUP, name, value, choices, text) {name, value, choices, text, GROUP},
#include "server/routes/parameter.def"
#undef PARAMETER
};

const struct route *routes(size_t *count)
{
	*count = ARRAY_COUNT(route_table);
	return route_table;
}

const struct parameter *parameters(size_t *count)
{
	*count = ARRAY_COUNT(parameter_table);
	return parameter_table;
}

bool route_has_condition(const struct route *route, size_t condition)
{
	return route->groups & ROUTE_FILTER ||
	       (route->groups & ROUTE_MAP_FILTER && filter_maps_have(condition));
}

struct err *route_refuse_scripts(struct reply *reply)
{
	return reply_refuse(reply, MHD_HTTP_NOT_IMPLEMENTED,
			    "bytehound's scripts are not run here: ask by conditions, which "
			    "/openapi.json lists");
}

struct err *route_script(struct request *request, struct reply *reply)
{
	return route_refuse_scripts(reply);
}

/* A part in <> of a route's path, and what stands there in the request. */
struct capture {
	const char *text;
	size_t length;
};

/* Whether the path is a pattern's; name: or that and ROUTE_NAME. */
static bool matches(const char *pattern, bool name, const char *path, struct capture captures[3])
{
	size_t captured = 0;

	while (*pattern) {
		if (*pattern == '<') {
			size_t length = strcspn(path, "/");

			if (!length)
				return false;
			captures[captured++] = (struct capture){path, length};
			path += length;
			pattern += strcspn(pattern, ">") + 1;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	if (!*path)
		return true;
	if (!name || *path != '/' || !path[1] || strchr(path + 1, '/'))
		return false;
	captures[captured] = (struct capture){path + 1, strlen(path + 1)};
	return true;
}

struct err *route_find(struct request *request, struct reply *reply)
{
	struct capture captures[3] = {0};
	const struct route *route = NULL;
	struct err *err;
	size_t count;

	routes(&count);
	for (size_t i = 0; i < count && !route; i++)
		if (matches(route_table[i].path, route_table[i].groups & ROUTE_NAMED,
			    request->query.path, captures))
			route = &route_table[i];
	if (!route)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND,
				    "no such path: /openapi.json lists them");
	request->route = route;
	if (route->groups & ROUTE_SCRIPTS)
		return route_refuse_scripts(reply);
	request->rest = captures[1].text;
	err = query_take(request, reply);
	if (err || reply->status || !captures[0].text)
		return err;
	if (captures[0].length >= sizeof(request->id))
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "data not found");
	memcpy(request->id, captures[0].text, captures[0].length);
	request->id[captures[0].length] = 0;
	return route->groups & ROUTE_OPENS ? NULL : request_open(request, reply);
}
