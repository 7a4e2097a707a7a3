#include "server/request.h"

#include "hosted/cleanup.h"
#include "server/selection.h"

void request_deinit(struct request *request)
{
	query_deinit(&request->query);
	if (request->dataset)
		dataset_settle(request->dataset);
	dataset_release(request->dataset);
	filter_destroy(request->filter);
	buf_deinit(&request->filter_key);
}

bool request_strips(const struct request *request)
{
	return request->choices[PARAMETER_STRIP] == 1;
}

bool request_descends(const struct request *request, bool standard)
{
	return request->given[PARAMETER_ORDER] ? request->choices[PARAMETER_ORDER] == 1 : standard;
}

void request_page(const struct request *request, uint64_t total, uint64_t *first, uint64_t *end)
{
	uint64_t skip = request->numbers[PARAMETER_SKIP];
	uint64_t count =
		request->given[PARAMETER_COUNT] ? request->numbers[PARAMETER_COUNT] : UINT64_MAX;

	*first = skip < total ? skip : total;
	*end = count < total - *first ? *first + count : total;
}

struct err *request_select(struct request *request, struct reply *reply, struct selection **ret)
{
	const char *key = buf_string(&request->filter_key);

	if (!key)
		return err_no_memory();
	*ret = NULL;
	return reply_refuse_err(reply, selection_find(request->dataset, request->filter, key, ret));
}
