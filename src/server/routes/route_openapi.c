/* /openapi.json: the tables of routes, conditions and answers, for programs to read. */
#include <stdio.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "server/page/answer_schema.h"
#include "server/routes/route.h"

static void put_choices(struct json_writer *json, const char *choices)
{
	json_key(json, "enum");
	json_array(json);
	while (choices && *choices) {
		size_t length = strcspn(choices, " ");

		json_bytes(json, choices, length);
		choices += length;
		choices += strspn(choices, " ");
	}
	json_end(json);
}

static void put_parameter(struct json_writer *json, const char *name, const char *place,
			  const char *text, const char *value, const char *choices)
{
	bool number = value && strcmp(value, "N") == 0;

	json_object(json);
	json_field_text(json, "name", name);
	json_field_text(json, "in", place);
	if (strcmp(place, "path") == 0)
		json_field_bool(json, "required", true);
	if (text)
		json_field_text(json, "description", text);
	json_key(json, "schema");
	json_object(json);
	json_field_text(json, "type", number ? "integer" : "string");
	if (choices)
		put_choices(json, choices);
	json_end(json);
	json_end(json);
}

/*
 * Refers to a condition: each is a component, written once, because all routes with filters have
 * the same.
 */
static void put_condition_reference(struct json_writer *json, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "#/components/parameters/%s", name);
	json_object(json);
	json_field_text(json, "$ref", path);
	json_end(json);
}

#define BEFORE "before" /* the component that stands for all names of REQUEST_BEFORE */

/* Writes one parameter that is an object: its members stand in the query by their own names. */
static void put_before(struct json_writer *json)
{
	json_object(json);
	json_field_text(json, "name", BEFORE);
	json_field_text(json, "in", "query");
	json_field_text(json, "description",
			"any condition with b. in front: of a difference, what differs on the side "
			"before; without a value the side before lacks that condition");
	json_field_text(json, "style", "form");
	json_field_bool(json, "explode", true);
	json_key(json, "schema");
	json_object(json);
	json_field_text(json, "type", "object");
	json_key(json, "propertyNames");
	json_object(json);
	json_field_text(json, "pattern", "^b\\.");
	json_end(json);
	json_key(json, "additionalProperties");
	json_object(json);
	json_field_text(json, "type", "string");
	json_end(json);
	json_end(json);
	json_end(json);
}

static void put_conditions(struct json_writer *json)
{
	size_t count;
	const struct filter_parameter *all = filter_parameters(&count);

	json_object(json);
	for (size_t i = 0; i < count; i++) {
		json_key(json, all[i].name);
		put_parameter(json, all[i].name, "query", all[i].text, all[i].value,
			      all[i].choices);
	}
	json_key(json, BEFORE);
	put_before(json);
	json_end(json);
}

/* Writes the parts of a path in <>. */
static void put_path_parameters(struct json_writer *json, const char *path)
{
	while ((path = strchr(path, '<'))) {
		size_t length = strcspn(++path, ">");
		char name[32] = "";

		memcpy(name, path, length < sizeof(name) ? length : sizeof(name) - 1);
		put_parameter(
			json, name, "path",
			strcmp(name, "id") == 0
				? "id of a recording, or last; with .all behind it its whole run"
				: NULL,
			NULL, NULL);
	}
}

static void put_parameters(struct json_writer *json, const struct route *route)
{
	size_t count, filters;
	const struct parameter *own = parameters(&count);
	const struct filter_parameter *conditions = filter_parameters(&filters);

	json_key(json, "parameters");
	json_array(json);
	put_path_parameters(json, route->path);
	for (size_t i = 0; i < count; i++)
		if (own[i].group & route->groups)
			put_parameter(json, own[i].name, "query", own[i].text, own[i].value,
				      own[i].choices);
	for (size_t i = 0; i < filters; i++)
		if (route_has_condition(route, i))
			put_condition_reference(json, conditions[i].name);
	if (route->groups & ROUTE_CHANGE)
		put_condition_reference(json, BEFORE);
	json_end(json);
}

/* Writes a path, with {id} where the table has <id>. */
static void put_path(struct json_writer *json, struct buf *scratch, const char *path)
{
	scratch->size = 0;
	for (; *path; path++)
		buf_char(scratch, *path == '<' ? '{' : *path == '>' ? '}' : *path);
	json_key(json, buf_string(scratch) ? scratch->data : "");
}

static void put_response(struct json_writer *json, const char *status, const char *text,
			 const char *type, const char *shape)
{
	json_key(json, status);
	json_object(json);
	json_field_text(json, "description", text);
	json_key(json, "content");
	json_object(json);
	json_key(json, type);
	json_object(json);
	json_key(json, "schema");
	answer_schema_put(json, shape);
	json_end(json);
	json_end(json);
	json_end(json);
}

static void put_route(struct json_writer *json, struct buf *scratch, const struct route *route)
{
	static const char text[] = "text/plain; charset=utf-8";

	put_path(json, scratch, route->path);
	json_object(json);
	json_key(json, "get");
	json_object(json);
	json_field_text(json, "summary", route->text);
	put_parameters(json, route);
	json_key(json, "responses");
	json_object(json);
	put_response(json, "200", "what was asked for", route->type, route->shape);
	put_response(json, "400", "a parameter is unknown or wrong", text, "string");
	if (strchr(route->path, '<') || route->groups & ROUTE_PROFILE)
		put_response(json, "404", "no such recording", text, "string");
	json_end(json);
	json_end(json);
	json_end(json);
}

/* Writes the path of a route with ROUTE_NAME behind it. */
static void put_named(struct json_writer *json, struct buf *scratch, struct route route)
{
	char path[64];

	snprintf(path, sizeof(path), "%s" ROUTE_NAME, route.path);
	route.path = path;
	route.text = "the same, with a name to save it as";
	put_route(json, scratch, &route);
}

struct err *route_openapi(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	cleanup(buf_deinit) struct buf scratch = BUF_EMPTY;
	struct json_writer json;
	size_t count;
	const struct route *all = routes(&count);

	json_init(&json, &buf, true);
	json_object(&json);
	json_field_text(&json, "openapi", "3.1.0");
	json_key(&json, "info");
	json_object(&json);
	json_field_text(&json, "title", "mallow");
	json_field_text(&json, "version", MALLOW_VERSION);
	json_end(&json);
	json_key(&json, "paths");
	json_object(&json);
	for (size_t i = 0; i < count; i++) {
		if (all[i].groups & ROUTE_SCRIPTS)
			continue; // has no answer
		put_route(&json, &scratch, &all[i]);
		if (all[i].groups & ROUTE_NAMED)
			put_named(&json, &scratch, all[i]);
	}
	json_end(&json);
	json_key(&json, "components");
	json_object(&json);
	json_key(&json, "parameters");
	put_conditions(&json);
	json_key(&json, "schemas");
	answer_schema_put_all(&json);
	json_end(&json);
	json_end(&json);
	return reply_whole(reply, &buf);
}
