/* /flame: the widest nodes of a flame graph, as columns. */
#include <microhttpd.h>

#include "analysis/trees/flame.h"
#include "hosted/cleanup.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

#define CUT_STANDARD 2000
#define MAX_STANDARD 20000

static const char *const metrics[FLAME_METRICS] = {
	[FLAME_PEAK] = "peak",           [FLAME_TOTAL] = "total",   [FLAME_CALLS] = "calls",
	[FLAME_TEMPORARY] = "temporary", [FLAME_LEAKED] = "leaked", [FLAME_SLACK] = "slack",
	[FLAME_BLOCKS] = "blocks",
};

static struct err *take_options(const struct request *request, struct flame_options *options,
				struct reply *reply)
{
	unsigned int folds = request->choices[PARAMETER_FLAME_FOLD];

	*options = (struct flame_options){
		.metric = (enum flame_metric)request->choices[PARAMETER_FLAME_METRIC],
		.callers = request->choices[PARAMETER_FLAME_DIRECTION] == 1,
		.shape = {.merge = (enum tree_merge)request->choices[PARAMETER_FLAME_MERGE],
			  .plumbing = folds & 1,
			  .recursion = folds & 4},
		.trunks = folds & 2,
		.focus = request->texts[PARAMETER_FLAME_FOCUS],
		.root = request->texts[PARAMETER_FLAME_ROOT],
		.cut = CUT_STANDARD,
		.most = MAX_STANDARD,
		.counts = request->choices[PARAMETER_FLAME_COLUMNS] == 1,
	};
	if (request->given[PARAMETER_FLAME_CUT])
		options->cut = request->numbers[PARAMETER_FLAME_CUT];
	if (request->given[PARAMETER_FLAME_MAX])
		options->most = request->numbers[PARAMETER_FLAME_MAX];
	return options->most ? NULL
			     : reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					    "invalid 'max': '0' has no room for the root");
}

static void put_names(struct json_writer *json, const struct flame *flame)
{
	json_key(json, "names");
	json_array(json);
	for (uint32_t i = 0; i < flame->name_count; i++)
		json_text(json, flame->names[i].text);
	json_end(json);
	json_key(json, "modules");
	json_array(json);
	for (uint32_t i = 0; i < flame->name_count; i++)
		json_text(json, flame->names[i].frame ? flame->names[i].frame->module_name : NULL);
	json_end(json);
	json_key(json, "plumbing");
	json_array(json);
	for (uint32_t i = 0; i < flame->name_count; i++)
		json_bool(json, flame->names[i].frame && flame->names[i].frame->plumbing);
	json_end(json);
}

/* ids: whether nodes get one: they take a fifth of the answer. */
static void put_ids_and_parents(struct json_writer *json, const struct flame *flame, bool ids)
{
	char id[FLAME_ID_SIZE];

	json_key(json, "id");
	json_array(json);
	for (uint32_t i = 0; ids && i < flame->count; i++) {
		flame_node_id(&flame->nodes[i], id);
		json_text(json, id);
	}
	json_end(json);
	json_key(json, "parent");
	json_array(json);
	for (uint32_t i = 0; i < flame->count; i++)
		json_i64(json, i ? (int64_t)flame->nodes[i].parent : -1);
	json_end(json);
}

/* Writes a member of all nodes as a column. */
#define PUT_COLUMN(json, flame, key, member)                                                       \
	do {                                                                                       \
		json_key((json), (key));                                                           \
		json_array(json);                                                                  \
		for (uint32_t i_ = 0; i_ < (flame)->count; i_++)                                   \
			json_u64((json), (flame)->nodes[i_].member);                               \
		json_end(json);                                                                    \
	} while (0)

static void put_counts(struct json_writer *json, const struct flame *flame, bool counts)
{
	if (counts) {
		PUT_COLUMN(json, flame, "calls", calls);
		PUT_COLUMN(json, flame, "temporary", temporary);
		return;
	}
	json_key(json, "calls");
	json_null(json);
	json_key(json, "temporary");
	json_null(json);
}

static void put_flame(struct json_writer *json, const struct flame *flame,
		      const struct request *request)
{
	json_object(json);
	json_field_text(json, "metric", metrics[request->choices[PARAMETER_FLAME_METRIC]]);
	put_names(json, flame);
	put_ids_and_parents(json, flame, request->choices[PARAMETER_FLAME_IDS] == 0);
	PUT_COLUMN(json, flame, "name", name);
	PUT_COLUMN(json, flame, "folded", folded);
	PUT_COLUMN(json, flame, "bytes", value);
	PUT_COLUMN(json, flame, "own", own);
	PUT_COLUMN(json, flame, "blocks", blocks);
	PUT_COLUMN(json, flame, "leaked", leaked);
	PUT_COLUMN(json, flame, "age", age_ns);
	PUT_COLUMN(json, flame, "rest", rest);
	PUT_COLUMN(json, flame, "more", more);
	put_counts(json, flame, request->choices[PARAMETER_FLAME_COLUMNS] == 1);
	json_end(json);
}

/* What a request asks for. selection: NULL if the request was refused. Call it under the lock. */
static struct err *select_side(struct request *request, struct reply *reply,
			       struct selection **selection, struct flame_side *side)
{
	struct err *err = request_select(request, reply, selection);

	if (err || !*selection)
		return err;
	side->recording = request->dataset->recording;
	side->match = (*selection)->bits ? &(*selection)->match : NULL;
	return NULL;
}

/* *ret: the graph; NULL if the request was refused. Call it under the lock. */
static struct err *find_flame(struct request *request, struct reply *reply,
			      struct flame_side sides[DIFF_SIDES],
			      const struct flame_options *options, struct flame **ret)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	struct symbolized *names = request->dataset->symbolized;
	enum diff_show show = (enum diff_show)request->choices[PARAMETER_SHOW];
	struct err *err = select_side(request, reply, &selection, &sides[DIFF_AFTER]);

	if (err || !selection)
		return err;
	err = request->before ? flame_create_change(sides, show, names, options, ret)
			      : flame_create(&sides[DIFF_AFTER], names, options, ret);
	return reply_refuse_err(reply, err);
}

struct err *route_flame(struct request *request, struct reply *reply)
{
	cleanup(flame_destroy_at) struct flame *flame = NULL;
	cleanup(selection_release_at) struct selection *before = NULL;
	struct flame_side sides[DIFF_SIDES] = {0};
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct flame_options options;
	struct json_writer json;
	struct err *err = take_options(request, &options, reply);

	// One lock at a time: both sides may be one data set, and other requests have them swapped.
	if (!err && !reply->status && request->before) {
		dataset_lock(request->before->dataset);
		err = select_side(request->before, reply, &before, &sides[DIFF_BEFORE]);
		dataset_unlock(request->before->dataset);
	}
	if (err || reply->status)
		return err;
	dataset_lock(request->dataset);
	err = find_flame(request, reply, sides, &options, &flame);
	dataset_unlock(request->dataset);
	if (err || !flame)
		return err;
	json_init(&json, &buf, false);
	if (request->before) {
		json_object(&json);
		json_key(&json, "flame");
	}
	put_flame(&json, flame, request);
	if (request->before) {
		PUT_COLUMN(&json, flame, "before", sides[DIFF_BEFORE]);
		PUT_COLUMN(&json, flame, "after", sides[DIFF_AFTER]);
		json_end(&json);
	}
	return reply_whole(reply, &buf);
}
