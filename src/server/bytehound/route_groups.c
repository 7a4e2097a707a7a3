/* /allocation_groups and /backtraces: one entry for each stack. */
#include <stdlib.h>

#include "server/answers/rest_json.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

/* The choices of sort_by: each of these for the matching allocations, then each for all … */
enum { FIRST, LAST, INTERVAL, CALLS, LEAKED, SIZE, KEYS };
#define MOST (2 * KEYS) /* … and when all of a group had most live */

struct groups {
	struct dataset *dataset;
	struct selection *selection;
	const struct site_sums *matched, *all;
	const uint64_t *most_ns;
	uint32_t *sites; /* in the order asked for, those of all pages */
	uint64_t count;
	uint64_t at, end; /* the page */
	bool strip;
	bool bare; /* stacks alone */
	bool begun;
	struct json_writer json;
};

static void drop_groups(void *state)
{
	struct groups *groups = state;

	selection_release(groups->selection);
	dataset_release(groups->dataset);
	free(groups->sites);
	free(groups);
}

/* Null without scripts, and of what has no blocks. */
static void put_nulls(struct json_writer *json, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		json_key(json, keys[i]);
		json_null(json);
	}
}

/* most_ns: SITE_USAGE_NEVER: not known, as of matching ones alone. */
static void put_sums(struct json_writer *json, const char *key, const struct site_sums *sums,
		     uint64_t most_ns, const struct recording_facts *facts)
{
	static const char *const graphs[] = {"graph_preview_url", "graph_url"};
	static const char *const most[] = {"max_total_usage_first_seen_at",
					   "max_total_usage_first_seen_at_relative",
					   "max_total_usage_first_seen_at_relative_p"};

	json_key(json, key);
	json_object(json);
	json_field_u64(json, "size", sums->size);
	json_field_u64(json, "min_size", sums->span.smallest);
	json_field_u64(json, "max_size", sums->span.largest);
	rest_json_field_moment(json, "min_timestamp", sums->span.first_ns, facts);
	rest_json_field_moment(json, "max_timestamp", sums->span.last_ns, facts);
	rest_json_field_time(json, "interval", sums->span.last_ns - sums->span.first_ns);
	json_field_u64(json, "leaked_count", sums->leaked);
	json_field_u64(json, "allocated_count", sums->calls);
	put_nulls(json, graphs, 2);
	if (most_ns == SITE_USAGE_NEVER)
		put_nulls(json, most, 3);
	else
		rest_json_field_moment(json, most[0], most_ns, facts);
	json_end(json);
}

static struct err *put_group(struct json_writer *json, const struct groups *groups, uint32_t site,
			     uint32_t stack)
{
	struct err *err;

	json_object(json);
	put_sums(json, "all", &groups->all[site], groups->most_ns[site], groups->dataset->facts);
	put_sums(json, "only_matched", &groups->matched[site], SITE_USAGE_NEVER,
		 groups->dataset->facts);
	json_field_u64(json, "backtrace_id", stack);
	json_key(json, "backtrace");
	err = dataset_put_stack(groups->dataset, json, stack, groups->strip);
	json_end(json);
	return err;
}

static struct err *make_groups(void *state, struct buf *buf, bool *done)
{
	struct groups *groups = state;
	struct json_writer *json = &groups->json;
	struct err *err = NULL;
	uint32_t count;
	const struct site *sites = recording_sites(groups->dataset->recording, &count);

	if (!groups->begun) {
		json_init(json, buf, false);
		json_object(json);
		// sic: clients expect these names
		json_key(json, groups->bare ? "backtraces" : "allocations");
		json_array(json);
		groups->begun = true;
	}
	dataset_lock(groups->dataset);
	while (!err && buf->size < BODY_PIECE && groups->at < groups->end) {
		uint32_t site = groups->sites[groups->at++], stack = sites[site].stack;

		err = groups->bare ? dataset_put_stack(groups->dataset, json, stack, groups->strip)
				   : put_group(json, groups, site, stack);
	}
	dataset_unlock(groups->dataset);
	if (groups->at == groups->end) {
		json_end(json);
		json_field_u64(json, "total_count", groups->count);
		json_end(json);
		*done = true;
	}
	return err;
}

struct sort {
	const struct site_sums *sums;
	const uint64_t *most_ns;
	unsigned int key;
};

/* A request_key. */
static uint64_t group_key(const void *argument, uint32_t site)
{
	const struct sort *sort = argument;
	const struct site_sums *sums = &sort->sums[site];

	switch (sort->key) {
	case FIRST:
		return sums->span.first_ns;
	case LAST:
		return sums->span.last_ns;
	case INTERVAL:
		return sums->span.last_ns - sums->span.first_ns;
	case CALLS:
		return sums->calls;
	case LEAKED:
		return sums->leaked;
	case MOST:
		return sort->most_ns[site];
	default:
		return sums->size;
	}
}

static struct err *sort_groups(const struct request *request, struct groups *groups)
{
	unsigned int choice = request->choices[PARAMETER_GROUP_SORT];
	struct sort sort = {
		.sums = choice < KEYS ? groups->matched : groups->all,
		.most_ns = groups->most_ns,
		.key = choice == MOST ? MOST : choice % KEYS,
	};
	uint32_t count;

	recording_sites(groups->dataset->recording, &count);
	groups->sites = malloc(((size_t)count + 1) * sizeof(*groups->sites));
	if (!groups->sites)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		if (groups->matched[i].calls)
			groups->sites[groups->count++] = i;
	request_sort(request, groups->sites, groups->count, group_key, &sort,
		     sort.key != FIRST && sort.key != LAST && sort.key != MOST);
	return NULL;
}

/* Finds and sorts the sites. Call it under the lock. */
static struct err *find_groups(struct request *request, struct reply *reply, struct groups *groups)
{
	struct err *err = request_select(request, reply, &groups->selection);

	if (err || !groups->selection)
		return err;
	err = dataset_sums(groups->dataset, &groups->all);
	if (!err && !groups->bare)
		err = dataset_most(groups->dataset, &groups->most_ns);
	if (!err)
		err = selection_sums(groups->dataset, groups->selection, &groups->matched);
	return err ? err : sort_groups(request, groups);
}

static struct err *answer_groups(struct request *request, struct reply *reply, bool bare)
{
	struct groups *groups = calloc(1, sizeof(*groups));
	struct err *err;

	if (!groups)
		return err_no_memory();
	groups->dataset = dataset_hold(request->dataset);
	groups->strip = request_strips(request);
	groups->bare = bare;
	dataset_lock(groups->dataset);
	err = find_groups(request, reply, groups);
	dataset_unlock(groups->dataset);
	if (err || !groups->selection) {
		drop_groups(groups);
		return err;
	}
	request_page(request, groups->count, &groups->at, &groups->end);
	return reply_pieces(reply, make_groups, groups, drop_groups);
}

struct err *route_allocation_groups(struct request *request, struct reply *reply)
{
	return answer_groups(request, reply, false);
}

struct err *route_backtraces(struct request *request, struct reply *reply)
{
	return answer_groups(request, reply, true);
}
