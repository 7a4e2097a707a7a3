/* /sums: what matching allocations come to, by one key or two, as columns. */
#include <microhttpd.h>
#include <stddef.h>
#include <string.h>

#include "analysis/sums/sums.h"
#include "analysis/views/series.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "server/group_json.h"
#include "server/rest_json.h"
#include "server/route.h"
#include "server/selection.h"

#define KEYS 2

/* Curves take memory while they are made: so many points of all rows at most. */
#define SPARK_MAX  256
#define POINTS_MAX ((uint64_t)1 << 19)

/* What a request asks for, and its answer. */
struct asked {
	struct dataset *dataset;
	struct selection *selection;
	enum block_groups_by by[KEYS];
	size_t keys;
	bool inclusive;
	struct sums_query query;
	struct sums *sums;
	const struct sums_row *rows; /* the page */
	uint64_t count;
	uint32_t spark; /* points of curves; 0: no curves */
	struct series *series;
};

static void asked_deinit(struct asked *asked)
{
	series_destroy(asked->series);
	sums_destroy(asked->sums);
	selection_release(asked->selection);
}

/* All but fates are keys. */
#define KEY_FIRST (BLOCK_GROUPS_FATE + 1)

static struct err *refuse_key(struct reply *reply, const char *key, size_t length)
{
	cleanup(buf_deinit) struct buf words = BUF_EMPTY;

	for (enum block_groups_by by = KEY_FIRST; by < BLOCK_GROUPS_COUNT; by++)
		buf_printf(&words, " %s", block_groups_word(by));
	if (!buf_string(&words))
		return buf_finish(&words);
	return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "invalid 'by': '%.*s' is none of%s",
			    (int)length, key, words.data);
}

/* Reads one key, of so many characters. */
static struct err *take_key(struct reply *reply, const char *key, size_t length,
			    enum block_groups_by *ret)
{
	for (enum block_groups_by by = KEY_FIRST; by < BLOCK_GROUPS_COUNT; by++) {
		const char *word = block_groups_word(by);

		if (strlen(word) == length && memcmp(word, key, length) == 0) {
			*ret = by;
			return NULL;
		}
	}
	return refuse_key(reply, key, length);
}

static struct err *take_keys(const struct request *request, struct reply *reply,
			     struct asked *asked)
{
	const char *text = request->texts[PARAMETER_SUMS_BY];
	struct err *err = NULL;

	for (text = text ? text : "site"; text && !err && !reply->status;) {
		size_t length = strcspn(text, ",");

		if (asked->keys == KEYS)
			return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					    "invalid 'by': more than two keys");
		err = take_key(reply, text, length, &asked->by[asked->keys++]);
		text = text[length] ? text + length + 1 : NULL;
	}
	if (!err && !reply->status && asked->keys == KEYS && asked->by[0] == asked->by[1])
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "invalid 'by': '%s' twice",
				    block_groups_word(asked->by[0]));
	return err;
}

/* Finds the blocks and their groups. Call it under the lock. */
static struct err *find_blocks(struct request *request, struct reply *reply, struct asked *asked)
{
	const struct block_groups **places[KEYS] = {&asked->query.first, &asked->query.second};
	struct err *err = request_select(request, reply, &asked->selection);

	for (size_t i = 0; !err && !reply->status && i < asked->keys; i++) {
		err = dataset_groups(asked->dataset, asked->by[i], places[i]);
		if (err)
			err = reply_refuse_err(
				reply, err_prefix(err, "by=%s", block_groups_word(asked->by[i])));
	}
	if (!err && !reply->status)
		asked->query.bits = asked->selection->bits;
	return err;
}

/*
 * Sums of all stacks that a key is in. They need names, so that they are made under the lock; then
 * their rows are what the query is by. Call it under the lock.
 */
static struct err *sum_inclusive(struct reply *reply, struct asked *asked)
{
	const struct block_groups *sites;
	struct err *err = dataset_groups(asked->dataset, BLOCK_GROUPS_SITE, &sites);

	if (!err)
		err = sums_create_inclusive(asked->dataset->recording, asked->dataset->symbolized,
					    asked->selection->bits, sites, asked->by[0],
					    &asked->sums);
	if (err)
		return reply_refuse_err(reply, err);
	asked->query.first = asked->sums->groups;
	return NULL;
}

/* Call it under the lock. */
static struct err *find(struct request *request, struct reply *reply, struct asked *asked)
{
	struct err *err = find_blocks(request, reply, asked);

	return err || reply->status || !asked->inclusive ? err : sum_inclusive(reply, asked);
}

static void put_all(struct json_writer *json, const struct sums *sums)
{
	const struct sums_row *all = &sums->all;

	json_key(json, "all");
	json_object(json);
	json_field_u64(json, "bytes", all->bytes);
	json_field_u64(json, "blocks", all->blocks);
	json_field_u64(json, "leaked", all->leaked);
	json_field_u64(json, "total", all->total);
	json_field_u64(json, "calls", all->calls);
	json_field_u64(json, "temporary", all->temporary);
	json_field_u64(json, "slack", all->slack);
	json_end(json);
}

/* The groups that rows of the page have, each once, and of each row which of these it has. */
struct page_keys {
	uint32_t *groups;
	uint32_t *indices; /* RECORDING_NONE: none */
	uint32_t count;
};

static void page_keys_deinit(struct page_keys *keys)
{
	free(keys->groups);
	free(keys->indices);
}

static struct err *find_page_keys(const struct asked *asked, size_t key, struct page_keys *keys)
{
	cleanup(map_deinit) struct map found = {0};

	keys->groups = malloc((asked->count + 1) * sizeof(*keys->groups));
	keys->indices = malloc((asked->count + 1) * sizeof(*keys->indices));
	if (!keys->groups || !keys->indices)
		return err_no_memory();
	for (uint64_t i = 0; i < asked->count; i++) {
		uint32_t group = key ? asked->rows[i].second : asked->rows[i].first;
		uint64_t *index;

		keys->indices[i] = RECORDING_NONE;
		if (group == RECORDING_NONE)
			continue;
		index = map_put(&found, group);
		if (!index)
			return err_no_memory();
		if (*index == MAP_NONE) {
			*index = keys->count;
			keys->groups[keys->count++] = group;
		}
		keys->indices[i] = (uint32_t)*index;
	}
	return NULL;
}

static void put_indices(struct json_writer *json, const char *key, const struct page_keys *keys,
			uint64_t count)
{
	json_key(json, key);
	json_array(json);
	for (uint64_t i = 0; keys->indices && i < count; i++) {
		if (keys->indices[i] == RECORDING_NONE)
			json_null(json);
		else
			json_u64(json, keys->indices[i]);
	}
	json_end(json);
}

/* Call it under the lock. */
static struct err *put_keys(struct json_writer *json, const struct asked *asked)
{
	const struct block_groups *groups[KEYS] = {asked->query.first, asked->query.second};
	cleanup(page_keys_deinit) struct page_keys first = {0};
	cleanup(page_keys_deinit) struct page_keys second = {0};
	struct page_keys *keys[KEYS] = {&first, &second};
	struct err *err = NULL;

	json_key(json, "keys");
	json_array(json);
	for (size_t i = 0; !err && i < asked->keys; i++) {
		err = find_page_keys(asked, i, keys[i]);
		if (!err)
			err = group_json_put_table(json, asked->dataset->recording,
						   asked->dataset->symbolized, groups[i],
						   keys[i]->groups, keys[i]->count);
	}
	if (err)
		return err;
	json_end(json);
	put_indices(json, "key", &first, asked->count);
	put_indices(json, "second", &second, asked->count);
	return NULL;
}

#define COLUMN(key, member)                                                                        \
	rest_json_field_column(json, key, &asked->rows->member, sizeof(*asked->rows), asked->count)

/* Writes a column by a function of each row, or null where `has` is false. */
#define OPTIONAL(key, has, value)                                                                  \
	do {                                                                                       \
		json_key(json, key);                                                               \
		json_array(json);                                                                  \
		for (uint64_t i_ = 0; i_ < asked->count; i_++) {                                   \
			const struct sums_row *row = &asked->rows[i_];                             \
                                                                                                   \
			if (has)                                                                   \
				json_u64(json, value);                                             \
			else                                                                       \
				json_null(json);                                                   \
		}                                                                                  \
		json_end(json);                                                                    \
	} while (0)

static void put_columns(struct json_writer *json, const struct asked *asked)
{
	COLUMN("bytes", bytes);
	COLUMN("blocks", blocks);
	COLUMN("leaked", leaked);
	COLUMN("total", total);
	COLUMN("calls", calls);
	COLUMN("temporary", temporary);
	COLUMN("slack", slack);
	OPTIONAL("own_peak", row->spans && !row->of_sites, row->own_peak);
	json_key(json, "lifetimes");
	json_object(json);
	COLUMN("freed", freed);
	OPTIONAL("mean_ns", row->freed, sums_mean_life(row));
	OPTIONAL("longest_ns", row->freed, row->longest_ns);
	json_end(json);
	OPTIONAL("first", row->spans, row->first_ns);
	OPTIONAL("last", row->spans, row->last_ns);
	json_key(json, "growth");
	json_array(json);
	for (uint64_t i = 0; i < asked->count; i++)
		json_i64(json, sums_growth(asked->sums, &asked->rows[i]));
	json_end(json);
}

static void put_curves(struct json_writer *json, const struct asked *asked)
{
	const struct series *series = asked->series;

	json_key(json, "spark_ns");
	json_array(json);
	for (uint32_t i = 0; series && i < series->steps; i++)
		json_u64(json, series->ends[i]);
	json_end(json);
	json_key(json, "curve");
	json_array(json);
	for (uint64_t i = 0, next = 0; series && i < asked->count; i++) {
		const struct series_curve *curve = &series->curves[next];

		// What CULL only counted was never live.
		json_array(json);
		for (uint32_t j = 0; j < series->steps; j++)
			json_u64(json, asked->rows[i].first == RECORDING_NONE
					       ? 0
					       : curve->points[j].bytes);
		json_end(json);
		next += asked->rows[i].first != RECORDING_NONE;
	}
	json_end(json);
}

static struct err *put_sums(struct json_writer *json, const struct asked *asked)
{
	struct err *err;

	json_object(json);
	json_field_u64(json, "at_ns", asked->sums->peak_ns);
	json_field_u64(json, "rows", asked->sums->count);
	put_all(json, asked->sums);
	dataset_lock(asked->dataset);
	err = put_keys(json, asked);
	dataset_unlock(asked->dataset);
	if (err)
		return err;
	put_columns(json, asked);
	put_curves(json, asked);
	json_end(json);
	return NULL;
}

static void take_page(const struct request *request, struct asked *asked)
{
	enum sums_order order = (enum sums_order)request->choices[PARAMETER_SUMS_SORT];
	bool ascending = order == SUMS_FIRST || order == SUMS_LAST || order == SUMS_KEY;
	uint64_t first, end;

	sums_sort(asked->sums, &asked->query, order, request_descends(request, !ascending));
	request_page(request, asked->sums->count, &first, &end);
	asked->rows = asked->sums->rows + first;
	asked->count = end - first;
}

/* Makes the curves of the page. */
static struct err *draw(struct reply *reply, struct asked *asked)
{
	struct series_query query = {
		.bits = asked->query.bits,
		.end_ns = asked->sums->duration_ns,
		.steps = asked->spark,
		.groups = asked->query.first,
	};
	auto_free uint32_t *groups = malloc((asked->count + 1) * sizeof(*groups));
	uint32_t count = 0;

	if (!groups)
		return err_no_memory();
	if (!asked->spark)
		return NULL;
	if (asked->count * asked->spark > POINTS_MAX)
		return reply_refuse(
			reply, MHD_HTTP_BAD_REQUEST,
			"invalid 'spark': %ju rows would have more than %ju points; fewer "
			"rows with 'count'",
			(uintmax_t)asked->count, (uintmax_t)POINTS_MAX);
	for (uint64_t i = 0; i < asked->count; i++)
		if (asked->rows[i].first != RECORDING_NONE)
			groups[count++] = asked->rows[i].first;
	return series_create_of(asked->dataset->recording, &query, groups, count, &asked->series);
}

/* Reads what is no filter. */
static struct err *take(const struct request *request, struct reply *reply, struct asked *asked)
{
	struct err *err = take_keys(request, reply, asked);

	asked->inclusive = request->choices[PARAMETER_SUMS_INCLUSIVE] == 1;
	if (!err && !reply->status && asked->inclusive &&
	    (asked->keys == KEYS || !sums_has_inclusive(asked->by[0])))
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'inclusive': only by one of function, file, line and "
				    "module");
	if (!err && !reply->status)
		err = request_number(request, reply, PARAMETER_SUMS_SPARK, 1, SPARK_MAX,
				     &asked->spark);
	if (!err && !reply->status && asked->spark && asked->keys == KEYS)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'spark': by two keys there are no curves");
	if (!err && !reply->status && asked->spark && asked->inclusive)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'spark': of inclusive sums there are no curves");
	return err;
}

struct err *route_sums(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	cleanup(asked_deinit) struct asked asked = {.dataset = request->dataset};
	struct json_writer json;
	struct err *err = take(request, reply, &asked);

	if (err || reply->status)
		return err;
	dataset_lock(request->dataset);
	err = find(request, reply, &asked);
	dataset_unlock(request->dataset);
	if (err || reply->status)
		return err;
	if (!asked.sums)
		err = sums_create(request->dataset->recording, &asked.query, &asked.sums);
	if (err)
		return reply_refuse_err(reply, err_prefix(err, "by"));
	take_page(request, &asked);
	err = draw(reply, &asked);
	if (err || reply->status)
		return err;
	json_init(&json, &buf, false);
	err = put_sums(&json, &asked);
	return err ? err : reply_whole(reply, &buf);
}
