/*
 * /space: the memory that live blocks lie in, and who keeps which page; /pages: how many pages that
 * is at several moments.
 */
#include <microhttpd.h>
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>

#include "analysis/views/space.h"
#include "hosted/cleanup.h"
#include "server/answers/group_json.h"
#include "server/answers/rest_json.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

#define TOP_STANDARD 20
#define MOMENTS_MAX  100

/* What a request asks for, and its answer. */
struct asked {
	struct dataset *dataset;
	struct selection *selection;
	struct space_query query;
	struct space *space;
};

static void asked_deinit(struct asked *asked)
{
	space_destroy(asked->space);
	selection_release(asked->selection);
}

static void put_sum(struct json_writer *json, const struct space_sum *sum)
{
	json_field_u64(json, "used", sum->used);
	json_field_u64(json, "slack", sum->slack);
	json_field_u64(json, "blocks", sum->blocks);
	json_field_u64(json, "pages", sum->pages);
	json_field_u64(json, "kept_pages", sum->kept_pages);
	json_field_u64(json, "sparse_pages", sum->sparse_pages);
}

#define COLUMN(key, cells, number, member)                                                         \
	rest_json_field_column(json, key, &(cells)->member, sizeof(*(cells)), number)

static void put_cells(struct json_writer *json, const struct asked *asked,
		      const struct space_lane *lane)
{
	static const struct space_cell none;
	const struct space_cell *cells =
		lane->cells ? asked->space->cells + lane->first_cell : &none;
	uint64_t start = lane->start >> asked->space->cell;
	const struct site *sites = recording_sites(asked->dataset->recording, NULL);

	json_object(json);
	json_key(json, "first");
	json_array(json);
	for (uint32_t i = 0; i < lane->cells; i++)
		json_u64(json, cells[i].first - start);
	json_end(json);
	COLUMN("count", cells, lane->cells, count);
	COLUMN("used", cells, lane->cells, used);
	COLUMN("slack", cells, lane->cells, slack);
	COLUMN("never_freed", cells, lane->cells, never_freed);
	COLUMN("pages", cells, lane->cells, pages);
	COLUMN("blocks", cells, lane->cells, blocks);
	COLUMN("oldest_ns", cells, lane->cells, oldest_ns);
	json_key(json, "backtrace_id");
	json_array(json);
	for (uint32_t i = 0; i < lane->cells; i++)
		json_u64(json, sites[cells[i].site].stack);
	json_end(json);
	json_end(json);
}

static void put_lane(struct json_writer *json, const struct asked *asked,
		     const struct space_lane *lane)
{
	static const char *const kinds[] = {
		[SPACE_MAIN_HEAP] = "main_heap",
		[SPACE_ARENA] = "arena",
		[SPACE_MAPPED] = "mapped",
		[SPACE_RANGE] = "range",
	};

	json_object(json);
	json_field_text(json, "kind", kinds[lane->kind]);
	json_field_u64(json, "number", lane->number);
	rest_json_field_address(json, "start", lane->start);
	rest_json_field_address(json, "end", lane->end);
	put_sum(json, &lane->sum);
	json_key(json, "cells");
	put_cells(json, asked, lane);
	json_end(json);
}

/* Call it under the lock. */
static struct err *put_keeper(struct json_writer *json, const struct asked *asked,
			      const struct space_keeper *keeper)
{
	struct err *err;

	json_object(json);
	err = group_json_put(json, asked->dataset->recording, asked->dataset->symbolized,
			     asked->query.groups, keeper->group, keeper->groups);
	if (err)
		return err;
	json_field_u64(json, "used", keeper->used);
	json_field_u64(json, "blocks", keeper->blocks);
	json_field_u64(json, "pages", keeper->pages);
	json_field_u64(json, "kept_by_bytes", keeper->kept_by_bytes);
	json_field_u64(json, "kept_by_blocks", keeper->kept_by_blocks);
	json_end(json);
	return NULL;
}

static struct err *put_space(struct json_writer *json, const struct asked *asked)
{
	const struct space *space = asked->space;
	struct err *err = NULL;

	json_object(json);
	json_field_u64(json, "at_ns", asked->query.at_ns);
	json_field_u64(json, "cell", UINT64_C(1) << space->cell);
	put_sum(json, &space->sum);
	json_key(json, "lanes");
	json_array(json);
	for (uint32_t i = 0; i < space->lane_count; i++)
		put_lane(json, asked, &space->lanes[i]);
	json_end(json);
	json_key(json, "kept");
	json_array(json);
	dataset_lock(asked->dataset);
	for (uint32_t i = 0; !err && i < space->keeper_count; i++)
		err = put_keeper(json, asked, &space->keepers[i]);
	dataset_unlock(asked->dataset);
	if (err)
		return err;
	json_end(json);
	json_end(json);
	return NULL;
}

/* Reads what is no filter. */
static struct err *take_space_query(const struct request *request, struct reply *reply,
				    struct space_query *query)
{
	uint64_t peak = recording_summary(request->dataset->recording)->peak_time_ns;
	struct err *err;

	if (request->given[PARAMETER_SPACE_START])
		query->start = request->numbers[PARAMETER_SPACE_START];
	if (request->given[PARAMETER_SPACE_END])
		query->end = request->numbers[PARAMETER_SPACE_END];
	if (query->start >= query->end)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'end': it is not behind 'start'");
	query->cell = (enum space_cell_size)request->choices[PARAMETER_SPACE_CELL];
	err = request_number(request, reply, PARAMETER_SPACE_TOP, 0, SPACE_TOP_MAX, &query->top);
	if (!err && !reply->status)
		err = request_moment(request, reply, PARAMETER_SPACE_AT, false, peak,
				     &query->at_ns);
	return err;
}

/* Finds the blocks and their groups. Call it under the lock. */
static struct err *find_blocks(struct request *request, struct reply *reply, struct asked *asked)
{
	static const enum block_groups_by choices[] = {BLOCK_GROUPS_SITE, BLOCK_GROUPS_FUNCTION,
						       BLOCK_GROUPS_MODULE, BLOCK_GROUPS_THREAD};
	struct err *err = request_select(request, reply, &asked->selection);

	if (err || reply->status)
		return err;
	asked->query.bits = asked->selection->bits;
	return dataset_groups(asked->dataset, choices[request->choices[PARAMETER_SPACE_BY]],
			      &asked->query.groups);
}

struct err *route_space(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	cleanup(asked_deinit) struct asked asked = {
		.dataset = request->dataset,
		.query = {.end = UINT64_MAX, .top = TOP_STANDARD},
	};
	struct json_writer json;
	struct err *err = take_space_query(request, reply, &asked.query);

	if (err || reply->status)
		return err;
	dataset_lock(request->dataset);
	err = find_blocks(request, reply, &asked);
	dataset_unlock(request->dataset);
	if (err || reply->status)
		return err;
	err = space_create(request->dataset->recording, &asked.query, &asked.space);
	if (err)
		return reply_refuse_err(reply, err);
	json_init(&json, &buf, false);
	err = put_space(&json, &asked);
	return err ? err : reply_whole(reply, &buf);
}

/* Reads the moments of /pages. If they are wrong, the reply says so. */
static struct err *take_moments(const struct request *request, struct reply *reply,
				uint64_t moments[MOMENTS_MAX], size_t *count)
{
	const char *text = request->texts[PARAMETER_MOMENTS_AT];

	*count = 0;
	if (!text)
		return NULL;
	for (; isdigit((unsigned char)*text) && *count < MOMENTS_MAX; text++) {
		char *end;

		moments[(*count)++] = strtoull(text, &end, 10);
		text = end;
		if (!*text)
			return NULL;
		if (*text != ',')
			break;
	}
	return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
			    "invalid 'at': it wants 1 to %d whole numbers of nanoseconds with "
			    "commas between",
			    MOMENTS_MAX);
}

struct err *route_pages(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	// No cells, and nobody's share.
	cleanup(asked_deinit) struct asked asked = {
		.dataset = request->dataset,
		.query = {.end = 1, .cell = SPACE_CELL_2M},
	};
	uint64_t moments[MOMENTS_MAX];
	struct json_writer json;
	size_t count;
	struct err *err = take_moments(request, reply, moments, &count);

	if (err || reply->status)
		return err;
	dataset_lock(request->dataset);
	err = find_blocks(request, reply, &asked);
	dataset_unlock(request->dataset);
	if (err || reply->status)
		return err;
	json_init(&json, &buf, false);
	json_object(&json);
	json_key(&json, "pages");
	json_array(&json);
	for (size_t i = 0; i < count; i++) {
		asked.query.at_ns = moments[i];
		err = space_create(request->dataset->recording, &asked.query, &asked.space);
		if (err)
			return reply_refuse_err(reply, err);
		json_u64(&json, asked.space->sum.pages);
		space_destroy(steal(&asked.space));
	}
	json_end(&json);
	json_end(&json);
	return reply_whole(reply, &buf);
}
