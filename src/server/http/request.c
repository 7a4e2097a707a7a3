#include "server/http/request.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "server/routes/route.h"
#include "server/data/selection.h"

static const char *const names[] = {
#define PARAMETER(ID, GROUP, name, value, choices, text) name,
#include "server/routes/parameter.def"
#undef PARAMETER
};

void request_deinit(struct request *request)
{
	if (request->before)
		request_deinit(request->before);
	free(request->before);
	query_deinit(&request->query);
	if (request->dataset)
		dataset_settle(request->dataset);
	dataset_release(request->dataset);
	filter_destroy(request->filter);
	buf_deinit(&request->filter_key);
}

/* Puts the two recordings of a difference on common stacks. */
static struct err *open_pair(struct request *request, struct reply *reply)
{
	struct dataset **after = &request->dataset, **before = &request->before->dataset;
	struct dataset *pair = NULL;
	struct err *err;

	if ((*after)->facts->live || (*before)->facts->live)
		return reply_refuse(
			reply, MHD_HTTP_BAD_REQUEST,
			"invalid 'b.id': a table of what lives now (kind live) cannot be "
			"compared with another recording here; /summary can");
	err = catalog_pair(request->catalog, *after, *before, &pair);
	if (err)
		return err;
	dataset_release(*after);
	dataset_release(*before);
	*after = pair;
	*before = dataset_hold(pair->before);
	return NULL;
}

/*
 * Several recordings as one, and imported sums, have no blocks, and no lists of them. Nor are they
 * put on common stacks with another recording. A filter chooses stacks of imported sums: narrow().
 */
static struct err *check_merged(const struct request *request, struct reply *reply)
{
	bool alone = !request->before && !request->is_before;
	// Dumps in a row are a curve.
	uint32_t curves = request->dataset->facts->aggregate ? ROUTE_SERIES : 0;

	if (!dataset_has_sums_alone(request->dataset))
		return NULL;
	if (alone && request->route->groups & (ROUTE_MERGED | curves) &&
	    (curves || filter_is_empty(request->filter)))
		return NULL;
	if (!request->dataset->merge)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "what was imported has sums of stacks, no single allocations");
	return reply_refuse(
		reply, MHD_HTTP_BAD_REQUEST,
		"several recordings as one (…%s) have sums of all their allocations, not "
		"single ones: ask for this without .all",
		CATALOG_FAMILY);
}

static struct err *open_before(struct request *request, struct reply *reply)
{
	struct request *before = request->before;
	const char *id = request->texts[PARAMETER_BEFORE_ID];
	struct err *err;

	if (!id) {
		before->dataset = dataset_hold(request->dataset);
		return NULL;
	}
	err = catalog_find(request->catalog, id, &before->dataset);
	if (!err && !before->dataset)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND,
				    "data not found: 'b.id' wants an id of /list");
	if (!err)
		err = check_merged(before, reply);
	if (err || reply->status || before->dataset == request->dataset ||
	    !(request->route->groups & ROUTE_COMMON))
		return err;
	return open_pair(request, reply);
}

/* Of imported sums: the data set becomes that of the stacks that the filter chooses. */
static struct err *narrow(struct request *request, struct reply *reply)
{
	struct dataset *narrowed = NULL;
	struct err *err;

	if (!request->dataset->facts->aggregate || filter_is_empty(request->filter))
		return NULL;
	err = dataset_open_filtered(request->dataset, request->filter,
				    catalog_options(request->catalog)->debug_paths, &narrowed);
	if (err)
		return request_refuse_err(request, reply, err);
	dataset_release(request->dataset);
	request->dataset = narrowed;
	filter_destroy(steal(&request->filter));
	return filter_create(&request->filter);
}

struct err *request_open(struct request *request, struct reply *reply)
{
	struct err *err = catalog_find(request->catalog, request->id, &request->dataset);

	if (!err && !request->dataset)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND, "data not found");
	if (!err)
		err = check_merged(request, reply);
	if (!err && !reply->status)
		err = narrow(request, reply);
	return err || reply->status || !request->before ? err : open_before(request, reply);
}

struct err *request_refuse_err(const struct request *request, struct reply *reply, struct err *err)
{
	if (err && request->is_before)
		err = err_prefix(err, "before");
	return reply_refuse_err(reply, err);
}

struct err *request_add_condition(struct request *request, const char *typed, const char *name,
				  const char *value, struct reply *reply)
{
	struct err *err = filter_set(request->filter, name, value);

	if (err && typed != name)
		err = err_prefix(err, "%s", typed);
	// The length makes sure that no value can look like further conditions.
	buf_printf(&request->filter_key, "%s=%zu:%s&", name, strlen(value), value);
	return reply_refuse_err(reply, err);
}

bool request_strips(const struct request *request)
{
	return request->choices[PARAMETER_STRIP] == 1;
}

enum stack_form request_stack_form(const struct request *request)
{
	return (enum stack_form)request->choices[PARAMETER_FRAMES];
}

bool request_descends(const struct request *request, bool standard)
{
	return request->given[PARAMETER_ORDER] ? request->choices[PARAMETER_ORDER] == 1 : standard;
}

struct sorting {
	request_key *key;
	const void *argument;
};

static int compare_keys(const void *left, const void *right, void *argument)
{
	const struct sorting *sorting = argument;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t a_key = sorting->key(sorting->argument, a);
	uint64_t b_key = sorting->key(sorting->argument, b);

	if (a_key != b_key)
		return a_key < b_key ? -1 : 1;
	return (a > b) - (a < b);
}

void request_sort(const struct request *request, uint32_t *numbers, uint64_t count,
		  request_key *key, const void *argument, bool standard)
{
	struct sorting sorting = {key, argument};

	qsort_r(numbers, count, sizeof(*numbers), compare_keys, &sorting);
	if (!request_descends(request, standard))
		return;
	for (uint64_t i = 0; i < count / 2; i++) {
		uint32_t number = numbers[i];

		numbers[i] = numbers[count - 1 - i];
		numbers[count - 1 - i] = number;
	}
}

void request_page(const struct request *request, uint64_t total, uint64_t *first, uint64_t *end)
{
	uint64_t skip = request->numbers[PARAMETER_SKIP];
	uint64_t count =
		request->given[PARAMETER_COUNT] ? request->numbers[PARAMETER_COUNT] : UINT64_MAX;

	*first = skip < total ? skip : total;
	*end = count < total - *first ? *first + count : total;
}

struct err *request_number(const struct request *request, struct reply *reply, enum parameter_id id,
			   uint64_t least, uint64_t most, uint32_t *ret)
{
	uint64_t number = request->numbers[id];

	if (!request->given[id])
		return NULL;
	if (number < least || number > most)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid '%s': it may be %ju to %ju", names[id],
				    (uintmax_t)least, (uintmax_t)most);
	*ret = (uint32_t)number;
	return NULL;
}

struct err *request_moment(const struct request *request, struct reply *reply, enum parameter_id id,
			   bool end, uint64_t standard, uint64_t *ret)
{
	uint64_t run = request->dataset->facts->duration_ns;
	struct err *err;
	int64_t ns;

	*ret = standard;
	if (!request->given[id])
		return NULL;
	err = moment_resolve(&request->moments[id], request->dataset->recording, end, &ns);
	if (err)
		return reply_refuse_err(reply, err_prefix(err, "%s", names[id]));
	*ret = ns < 0 ? 0 : (uint64_t)ns < run ? (uint64_t)ns : run;
	return NULL;
}

struct err *request_select(struct request *request, struct reply *reply, struct selection **ret)
{
	const char *key = buf_string(&request->filter_key);

	if (!key)
		return err_no_memory();
	*ret = NULL;
	return request_refuse_err(request, reply,
				  selection_find(request->dataset, request->filter, key, ret));
}
