#include "server/route.h"

#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/nearest.h"

#define FILTER  ROUTE_FILTER
#define BLOCKS  ROUTE_BLOCKS
#define GROUPS  ROUTE_GROUPS
#define PAGE    ROUTE_PAGE
#define STACKS  ROUTE_STACKS
#define PROFILE ROUTE_PROFILE
#define FLAME   ROUTE_FLAME
#define SERIES  ROUTE_SERIES
#define SPACE   ROUTE_SPACE
#define SUMS    ROUTE_SUMS
#define OPENS   ROUTE_OPENS
#define FRAMES  ROUTE_FRAMES
#define JSON    "application/json"
#define TEXT    "text/plain; charset=utf-8"
#define SVG     "image/svg+xml"
#define BYTES   "application/octet-stream"

static const struct route route_table[] = {
#define ROUTE(id, path, groups, type, shape, text) {path, groups, type, shape, text, route_##id},
#include "server/route.def"
#undef ROUTE
};

static const struct parameter parameter_table[] = {
#define PARAMETER(ID, GROUP, name, value, choices, text) {name, value, choices, text, GROUP},
#include "server/parameter.def"
#undef PARAMETER
};

const struct route *routes(size_t *count)
{
	*count = sizeof(route_table) / sizeof(route_table[0]);
	return route_table;
}

const struct parameter *parameters(size_t *count)
{
	*count = sizeof(parameter_table) / sizeof(parameter_table[0]);
	return parameter_table;
}

/* A part in <> of a route's path, and what stands there in the request. */
struct capture {
	const char *text;
	size_t length;
};

static bool match(const char *pattern, const char *path, struct capture captures[2])
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
	return !*path;
}

/* Notes which recording is asked for, and opens it, unless the route does. */
static struct err *take_id(struct request *request, const struct route *route,
			   const struct capture *id, struct reply *reply)
{
	if (id->length >= sizeof(request->id))
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "data not found");
	memcpy(request->id, id->text, id->length);
	request->id[id->length] = 0;
	return route->groups & ROUTE_OPENS ? NULL : request_open(request, reply);
}

/* The index of text among words separated by blanks. -1: it is none of them. */
static int choice_of(const char *choices, const char *text)
{
	size_t length = strlen(text);

	for (int i = 0; *choices; i++) {
		size_t here = strcspn(choices, " ");

		if (here == length && memcmp(choices, text, length) == 0)
			return i;
		choices += here;
		choices += strspn(choices, " ");
	}
	return -1;
}

/* Takes a value that is no choice. false: it is not what is allowed. */
static bool set_value(struct request *request, size_t id, const char *value, const char **allowed)
{
	const char *kind = parameter_table[id].value;
	int base = 10;
	char *end;

	if (strcmp(kind, "MOMENT") == 0) {
		*allowed = moment_allowed;
		return moment_parse(value, &request->moments[id]);
	}
	if (strcmp(kind, "INTERVAL") == 0) {
		*allowed = "a time such as 500ms, 2s or 1h2m3s";
		return interval_parse(value, &request->numbers[id]);
	}
	if (strcmp(kind, "N") != 0 && strcmp(kind, "ADDRESS") != 0) {
		request->texts[id] = value;
		return true;
	}
	*allowed = "a whole number";
	if (strcmp(kind, "ADDRESS") == 0 && strncmp(value, "0x", 2) == 0) {
		value += 2;
		base = 16;
	}
	errno = 0;
	request->numbers[id] = strtoull(value, &end, base);
	return isxdigit(*value) && !*end && !errno;
}

static struct err *set_parameter(struct request *request, size_t id, const char *value,
				 struct reply *reply)
{
	const struct parameter *parameter = &parameter_table[id];
	const char *allowed;

	if (parameter->choices) {
		int choice = choice_of(parameter->choices, value);

		if (choice < 0)
			return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					    "invalid '%s': '%s' is none of %s", parameter->name,
					    value, parameter->choices);
		request->choices[id] = (unsigned int)choice;
	} else if (!set_value(request, id, value, &allowed)) {
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "invalid '%s': '%s' is not %s",
				    parameter->name, value, allowed);
	}
	request->given[id] = true;
	return NULL;
}

/* Refuses a name that is neither a parameter of the route nor a condition. */
static struct err *refuse_unknown(const struct route *route, const char *name, struct reply *reply)
{
	size_t filters, known = 0, own = sizeof(parameter_table) / sizeof(parameter_table[0]);
	const struct filter_parameter *conditions = filter_parameters(&filters);
	auto_free const char **names = malloc((filters + own) * sizeof(*names));
	const char *near;

	if (!names)
		return err_no_memory();
	for (size_t i = 0; i < own; i++)
		if (parameter_table[i].group & route->groups)
			names[known++] = parameter_table[i].name;
	for (size_t i = 0; i < filters && route->groups & ROUTE_FILTER; i++)
		names[known++] = conditions[i].name;
	near = nearest_word(name, names, known);
	if (near)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "unknown parameter '%s': did you mean '%s'?", name, near);
	return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
			    "unknown parameter '%s': /openapi.json lists those of each path", name);
}

static bool is_condition(const char *name)
{
	size_t count;
	const struct filter_parameter *conditions = filter_parameters(&count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(conditions[i].name, name) == 0)
			return true;
	return false;
}

static struct err *set_condition(struct request *request, const char *name, const char *value,
				 struct reply *reply)
{
	struct err *err = reply_refuse_err(reply, filter_set(request->filter, name, value));

	// The length makes sure that no value can look like further conditions.
	buf_printf(&request->filter_key, "%s=%zu:%s&", name, strlen(value), value);
	return err;
}

/* Whether an earlier item has the same name as the one at index. */
static bool is_repeated(const struct query *query, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(query->items.items[i].name, query->items.items[index].name) == 0)
			return true;
	return false;
}

/*
 * Takes an item. Its search through earlier ones is short: all of them were taken, and no name is
 * taken twice.
 */
static struct err *take_item(struct request *request, const struct route *route, size_t index,
			     struct reply *reply)
{
	const struct query_item *item = &request->query.items.items[index];

	if (is_repeated(&request->query, index))
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "parameter '%s' is given twice",
				    item->name);
	if (!*item->value)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "parameter '%s' has no value",
				    item->name);
	for (size_t i = 0; i < sizeof(parameter_table) / sizeof(parameter_table[0]); i++)
		if (parameter_table[i].group & route->groups &&
		    strcmp(parameter_table[i].name, item->name) == 0)
			return set_parameter(request, i, item->value, reply);
	if (route->groups & ROUTE_FILTER && is_condition(item->name))
		return set_condition(request, item->name, item->value, reply);
	return refuse_unknown(route, item->name, reply);
}

static struct err *take_query(struct request *request, const struct route *route,
			      struct reply *reply)
{
	struct err *err = filter_create(&request->filter);

	for (size_t i = 0; !err && !reply->status && i < request->query.items.count; i++)
		err = take_item(request, route, i, reply);
	return err;
}

struct err *route_find(struct request *request, struct reply *reply)
{
	struct capture captures[2] = {0};
	const struct route *route = NULL;
	struct err *err;
	size_t count;

	routes(&count);
	for (size_t i = 0; i < count && !route; i++)
		if (match(route_table[i].path, request->query.path, captures))
			route = &route_table[i];
	if (!route)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND,
				    "no such path: /openapi.json lists them");
	err = take_query(request, route, reply);
	if (!err && !reply->status && captures[0].text)
		err = take_id(request, route, &captures[0], reply);
	request->rest = captures[1].text;
	if (!err && !reply->status)
		request->route = route;
	return err;
}
