/*
 * /openapi.json: the tables of routes, conditions and answers, for programs to read. answer.def is
 * written as JSON Schema, which OpenAPI 3.1 uses to describe answers.
 */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "server/routes/route.h"

static const struct answer {
	const char *name, *members, *text;
} answers[] = {
#define ANSWER(name, members, text) {#name, members, text},
#define REPORT(name, members, text)
#include "server/routes/answer.def"
#undef ANSWER
#undef REPORT
};

/* The types that have no members here. An ANSWER must not have one of their names. */
static const struct plain {
	const char *name, *type;
	const char *format; /* NULL: none */
	bool counts;        /* is never below 0 */
} plains[] = {
	{"unsigned", "integer", NULL, true},   {"integer", "integer", NULL, false},
	{"number", "number", NULL, false},     {"boolean", "boolean", NULL, false},
	{"string", "string", NULL, false},     {"object", "object", NULL, false},
	{"binary", "string", "binary", false},
#define ANSWER(name, members, text)
#define REPORT(name, members, text) {#name, "object", NULL, false},
#include "server/routes/answer.def"
#undef ANSWER
#undef REPORT
};

/* Writes the fields of a type without [] and ? into the open object. */
static void put_base(struct json_writer *json, const char *name, size_t length)
{
	char path[96];

	for (size_t i = 0; i < ARRAY_COUNT(plains); i++) {
		const struct plain *plain = &plains[i];

		if (strlen(plain->name) != length || memcmp(plain->name, name, length))
			continue;
		json_field_text(json, "type", plain->type);
		if (plain->format)
			json_field_text(json, "format", plain->format);
		if (plain->counts)
			json_field_u64(json, "minimum", 0);
		return;
	}
	snprintf(path, sizeof(path), "#/components/schemas/%.*s", (int)length, name);
	json_field_text(json, "$ref", path);
}

/* Writes the schema of a type: "frame[]", or object, string, binary. */
static void put_type(struct json_writer *json, const char *type, size_t length)
{
	json_object(json);
	if (length && type[length - 1] == '?') {
		json_key(json, "anyOf");
		json_array(json);
		put_type(json, type, length - 1);
		json_object(json);
		json_field_text(json, "type", "null");
		json_end(json);
		json_end(json);
	} else if (length > 2 && memcmp(type + length - 2, "[]", 2) == 0) {
		json_field_text(json, "type", "array");
		json_key(json, "items");
		put_type(json, type, length - 2);
	} else {
		put_base(json, type, length);
	}
	json_end(json);
}

/* Returns the word at *text, and its length. *text moves behind the mark that ends the word. */
static const char *next_word(const char **text, const char *marks, size_t *length)
{
	const char *word = *text;

	*length = strcspn(word, marks);
	*text = word + *length;
	*text += strspn(*text, marks);
	return word;
}

/* Writes the members. All of them are required, because an answer always has each. */
static void put_members(struct json_writer *json, const char *members)
{
	const char *rest = members;
	size_t length;

	json_field_text(json, "type", "object");
	json_key(json, "required");
	json_array(json);
	while (*rest) {
		const char *name = next_word(&rest, ":", &length);

		json_bytes(json, name, length);
		next_word(&rest, " ", &length);
	}
	json_end(json);
	json_key(json, "properties");
	json_object(json);
	for (rest = members; *rest;) {
		const char *name = next_word(&rest, ":", &length);
		char key[48];

		snprintf(key, sizeof(key), "%.*s", (int)length, name);
		json_key(json, key);
		name = next_word(&rest, " ", &length);
		put_type(json, name, length);
	}
	json_end(json);
}

static void put_choice(struct json_writer *json, const char *rows)
{
	size_t length;

	json_key(json, "oneOf");
	json_array(json);
	while (*rows) {
		const char *row = next_word(&rows, "|", &length);

		put_type(json, row, length);
	}
	json_end(json);
}

/* Writes all rows of answer.def by name, as the components that these schemas refer to. */
static void put_schemas(struct json_writer *json)
{
	json_object(json);
	for (size_t i = 0; i < ARRAY_COUNT(answers); i++) {
		json_key(json, answers[i].name);
		json_object(json);
		json_field_text(json, "description", answers[i].text);
		if (strchr(answers[i].members, ':'))
			put_members(json, answers[i].members);
		else
			put_choice(json, answers[i].members);
		json_end(json);
	}
	json_end(json);
}

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
	put_type(json, shape, strlen(shape));
	json_end(json);
	json_end(json);
	json_end(json);
}

static void put_route(struct json_writer *json, struct buf *scratch, const struct route *route)
{
	static const char text[] = "text/plain; charset=utf-8";

	// {id} where the table has <id>.
	scratch->size = 0;
	for (const char *c = route->path; *c; c++)
		buf_char(scratch, *c == '<' ? '{' : *c == '>' ? '}' : *c);
	json_key(json, buf_string(scratch) ? scratch->data : "");
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
	put_schemas(&json);
	json_end(&json);
	json_end(&json);
	return reply_whole(reply, &buf);
}
