#include "server/http/query.h"

#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/nearest.h"
#include "server/routes/route.h"

#define SIDE_SIZE (sizeof(REQUEST_BEFORE) - 1)
#define SCRIPT    "custom_filter" /* a filter as one of bytehound's scripts; an empty one is none */

void query_deinit(struct query *query)
{
	vec_deinit(&query->items);
	free(query->text);
	*query = (struct query){0};
}

static unsigned int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? (unsigned int)(c - '0')
					 : (unsigned int)(tolower((unsigned char)c) - 'a' + 10);
}

/* Decodes text in place. false: it contains a zero byte. */
static bool decode_in_place(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2])) {
			*to = (char)(hex_digit(from[1]) << 4 | hex_digit(from[2]));
			if (!*to)
				return false;
			from += 2;
		} else {
			*to = *from == '+' ? ' ' : *from;
		}
		to++;
	}
	*to = 0;
	return true;
}

static struct err *parse_items(char *text, struct query *query)
{
	char *item;

	while ((item = strsep(&text, "&"))) {
		char *value = item;
		char *name = strsep(&value, "=");

		if (!*name && !value)
			continue;
		if (!decode_in_place(name) || (value && !decode_in_place(value)))
			return err_create("the query holds a zero byte");
		if (!vec_push(&query->items, (struct query_item){name, value ? value : ""}))
			return err_no_memory();
	}
	return NULL;
}

struct err *query_parse(const char *target, struct query *ret)
{
	cleanup(query_deinit) struct query query = {.text = strdup(target)};
	struct err *err = NULL;
	char *rest = query.text;

	if (!query.text)
		return err_no_memory();
	query.path = strsep(&rest, "?");
	if (rest)
		err = parse_items(rest, &query);
	if (err)
		return err;
	*ret = query;
	query = (struct query){0};
	return NULL;
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
static bool set_value(struct request *request, const struct parameter *parameter, size_t id,
		      const char *value, const char **allowed)
{
	const char *kind = parameter->value;
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

/* name: as typed. */
static struct err *set_parameter(struct request *request, const struct parameter *parameter,
				 size_t id, const char *name, const char *value,
				 struct reply *reply)
{
	const char *allowed;

	if (parameter->choices) {
		int choice = choice_of(parameter->choices, value);

		if (choice < 0)
			return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					    "invalid '%s': '%s' is none of %s", name, value,
					    parameter->choices);
		request->choices[id] = (unsigned int)choice;
	} else if (!set_value(request, parameter, id, value, &allowed)) {
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "invalid '%s': '%s' is not %s",
				    name, value, allowed);
	}
	request->given[id] = true;
	return NULL;
}

/* A name with what stands before it, in memory of names. NULL: no memory. */
static const char *prefixed(struct arena *names, const char *name)
{
	char *text = arena_array(names, SIDE_SIZE + strlen(name) + 1, 1);

	return text ? strcat(strcpy(text, REQUEST_BEFORE), name) : NULL;
}

/* All names that a route knows. */
struct names {
	VEC(const char *) all;
	struct arena texts;
	bool failed; /* no memory */
};

static void names_deinit(struct names *names)
{
	vec_deinit(&names->all);
	arena_deinit(&names->texts);
}

static void add_name(struct names *names, const char *name, bool sided)
{
	const char *other = sided ? prefixed(&names->texts, name) : NULL;

	names->failed |= !vec_push(&names->all, name);
	names->failed |= sided && (!other || !vec_push(&names->all, other));
}

static bool collect_names(const struct route *route, struct names *names)
{
	size_t count;
	const struct parameter *own = parameters(&count);
	const struct filter_parameter *conditions;

	for (size_t i = 0; i < count; i++)
		if (own[i].group & route->groups)
			add_name(names, own[i].name, false);
	conditions = filter_parameters(&count);
	for (size_t i = 0; i < count; i++)
		if (route_has_condition(route, i))
			add_name(names, conditions[i].name, route->groups & ROUTE_CHANGE);
	return !names->failed;
}

/* Refuses a name that is neither a parameter of the route nor a condition. */
static struct err *refuse_unknown(const struct route *route, const char *name, struct reply *reply)
{
	cleanup(names_deinit) struct names names = {0};
	const char *near;

	if (!collect_names(route, &names))
		return err_no_memory();
	near = nearest_word(name, names.all.items, names.all.count);
	if (near)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "unknown parameter '%s': did you mean '%s'?", name, near);
	return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
			    "unknown parameter '%s': /openapi.json lists those of each path", name);
}

/* Refuses a name with "b." in front of a route that has no differences: says which ones have. */
static struct err *refuse_side(const struct request *request, const char *name, struct reply *reply)
{
	bool named = request->route->groups & ROUTE_NAMED && request->rest;
	cleanup(buf_deinit) struct buf paths = BUF_EMPTY;
	size_t count;
	const struct route *all = routes(&count);

	for (size_t i = 0; i < count; i++)
		if (all[i].groups & ROUTE_CHANGE)
			buf_printf(&paths, " %s", all[i].path);
	if (!buf_string(&paths))
		return buf_finish(&paths);
	return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
			    "'%s' asks for a difference, and %s%s has none; these have:%s", name,
			    request->route->path, named ? ROUTE_NAME : "", paths.data);
}

/* route: whose condition it must be; NULL: of any. */
static bool is_condition(const struct route *route, const char *name)
{
	size_t count;
	const struct filter_parameter *conditions = filter_parameters(&count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(conditions[i].name, name) == 0)
			return !route || route_has_condition(route, i);
	return false;
}

static bool is_sided(const char *name)
{
	return strncmp(name, REQUEST_BEFORE, SIDE_SIZE) == 0;
}

/* The item of that name, with REQUEST_BEFORE in front if sided, before `end`. NULL: none. */
static const struct query_item *find_item(const struct query *query, size_t end, bool sided,
					  const char *name)
{
	for (size_t i = 0; i < end; i++) {
		const struct query_item *item = &query->items.items[i];

		if (is_sided(item->name) == sided &&
		    strcmp(item->name + (sided ? SIDE_SIZE : 0), name) == 0)
			return item;
	}
	return NULL;
}

/* Whether what has no value leaves out a condition that the other side has. */
static bool leaves_out(const struct query *query, const char *typed, const char *name)
{
	return typed != name && is_condition(NULL, name) &&
	       find_item(query, query->items.count, false, name);
}

/* Takes an item; name: without what stands before it. */
static struct err *take_named(struct request *request, const struct query *query,
			      const struct query_item *item, const char *name, struct reply *reply)
{
	const struct route *route = request->route;
	bool sided = name != item->name;
	size_t count;
	const struct parameter *all = parameters(&count);

	if (strcmp(name, SCRIPT) == 0)
		return *item->value ? route_refuse_scripts(reply) : NULL;
	if (!*item->value)
		return leaves_out(query, item->name, name)
			       ? NULL
			       : reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					      "parameter '%s' has no value", item->name);
	for (size_t i = 0; i < count; i++)
		if (all[i].group & route->groups && !sided && strcmp(all[i].name, name) == 0)
			return set_parameter(request, &all[i], i, item->name, item->value, reply);
	if (is_condition(route, name))
		return request_add_condition(request, item->name, name, item->value, reply);
	return refuse_unknown(route, item->name, reply);
}

/* Whether an item is a parameter in itself: "b.id" is. */
static bool is_whole(const char *name)
{
	size_t count;
	const struct parameter *all = parameters(&count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(all[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Takes an item, unless it is of the other side. Its search through earlier ones is short: all of
 * them were taken, and no name is taken twice.
 */
static struct err *take_item(struct request *request, size_t index, bool *difference,
			     struct reply *reply)
{
	const struct query *query = &request->query;
	const struct query_item *item = &query->items.items[index];
	bool sided = is_sided(item->name);

	for (size_t i = 0; i < index; i++)
		if (strcmp(query->items.items[i].name, item->name) == 0)
			return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					    "parameter '%s' is given twice", item->name);
	if (sided && !(request->route->groups & ROUTE_CHANGE))
		return refuse_side(request, item->name, reply);
	*difference |= sided;
	if (sided && !is_whole(item->name))
		return is_condition(NULL, item->name + SIDE_SIZE)
			       ? NULL
			       : refuse_unknown(request->route, item->name, reply);
	return take_named(request, query, item, item->name, reply);
}

/* Takes what the side before has of its own, and what else it has in common with the request. */
static struct err *take_before(struct request *before, const struct query *query,
			       struct reply *reply)
{
	struct err *err = filter_create(&before->filter);

	for (size_t i = 0; !err && !reply->status && i < query->items.count; i++) {
		const struct query_item *item = &query->items.items[i];
		bool sided = is_sided(item->name);
		const char *name = item->name + (sided ? SIDE_SIZE : 0);

		if (is_whole(item->name) && sided)
			continue;
		if (sided || !find_item(query, query->items.count, true, item->name))
			err = take_named(before, query, item, name, reply);
	}
	return err;
}

struct err *query_take(struct request *request, struct reply *reply)
{
	struct err *err = filter_create(&request->filter);
	bool difference = false;

	for (size_t i = 0; !err && !reply->status && i < request->query.items.count; i++)
		err = take_item(request, i, &difference, reply);
	if (err || reply->status)
		return err;
	if (!difference && request->given[PARAMETER_SHOW])
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "'show' is of differences alone: what is compared is said by a "
				    "condition with 'b.' in front, or 'b.id'");
	if (!difference)
		return NULL;
	request->before = calloc(1, sizeof(*request->before));
	if (!request->before)
		return err_no_memory();
	request->before->catalog = request->catalog;
	request->before->route = request->route;
	request->before->is_before = true;
	return take_before(request->before, &request->query, reply);
}
