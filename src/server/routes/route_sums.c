/* /sums and /export/sums.csv: what matching allocations come to, by one key or two. */
#include <microhttpd.h>
#include <stddef.h>
#include <string.h>

#include "analysis/findings/shape_sums.h"
#include "analysis/sums/sums_change.h"
#include "hosted/cleanup.h"
#include "server/routes/route.h"
#include "server/data/selection.h"
#include "server/answers/sums_json.h"

/* An answer is made as a whole: of so many rows at most. */
#define ROWS_MAX 100000

/* Curves take memory while they are made: so many points of all rows at most. */
#define SPARK_MAX  256
#define POINTS_MAX ((uint64_t)1 << 19)

/* What a request asks for, and its answer. */
struct asked {
	struct dataset *dataset;
	struct selection *selection;
	enum block_groups_by by[SUMS_KEYS];
	size_t keys;
	struct sums_query query;
	struct sums *sums;
	const struct sums_row *rows; /* the page */
	uint64_t count;
	uint32_t spark; /* points of curves; 0: no curves */
	struct series *series;
	bool inclusive;
	bool judged;     /* each row has a shape */
	bool chained;    /* … and its chains */
	bool identities; /* keys have their identities on every host */
	struct shape_result *shapes;
	struct chain_facts *chains;
};

static void asked_deinit(struct asked *asked)
{
	free(asked->chains);
	free(asked->shapes);
	series_destroy(asked->series);
	sums_destroy(asked->sums);
	selection_release(asked->selection);
}

/* All are keys from here on. */
#define KEY_FIRST BLOCK_GROUPS_SITE

/* Reads one key, of so many characters. */
static struct err *take_key(struct reply *reply, const char *key, size_t length,
			    enum block_groups_by *ret)
{
	cleanup(buf_deinit) struct buf words = BUF_EMPTY;

	for (enum block_groups_by by = KEY_FIRST; by < BLOCK_GROUPS_COUNT; by++) {
		const char *word = block_groups_word(by);

		if (strlen(word) == length && memcmp(word, key, length) == 0) {
			*ret = by;
			return NULL;
		}
		buf_printf(&words, " %s", word);
	}
	if (!buf_string(&words))
		return buf_finish(&words);
	return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "invalid 'by': '%.*s' is none of%s",
			    (int)length, key, words.data);
}

static struct err *take_keys(const struct request *request, struct reply *reply,
			     struct asked *asked)
{
	const char *text = request->texts[PARAMETER_SUMS_BY];
	struct err *err = NULL;

	for (text = text ? text : "site"; text && !err && !reply->status;) {
		size_t length = strcspn(text, ",");

		if (asked->keys == SUMS_KEYS)
			return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					    "invalid 'by': more than two keys");
		err = take_key(reply, text, length, &asked->by[asked->keys++]);
		text = text[length] ? text + length + 1 : NULL;
	}
	if (!err && !reply->status && asked->keys == SUMS_KEYS && asked->by[0] == asked->by[1])
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST, "invalid 'by': '%s' twice",
				    block_groups_word(asked->by[0]));
	return err;
}

/* Finds the blocks and their groups. Call it under the lock. */
static struct err *find_blocks(struct request *request, struct reply *reply, struct asked *asked)
{
	const struct block_groups **places[SUMS_KEYS] = {&asked->query.first, &asked->query.second};
	struct err *err = request_select(request, reply, &asked->selection);

	for (size_t i = 0; !err && !reply->status && i < asked->keys && i < SUMS_KEYS; i++) {
		err = dataset_groups(asked->dataset, asked->by[i], places[i]);
		if (err)
			err = request_refuse_err(
				request, reply,
				err_prefix(err, "by=%s", block_groups_word(asked->by[i])));
		else if (dataset_has_sums_alone(asked->dataset) &&
			 !block_groups_of_sites(*places[i]))
			err = reply_refuse(
				reply, MHD_HTTP_BAD_REQUEST,
				"invalid 'by': %s have sums by site, place, function, file, line "
				"and module",
				asked->dataset->merge ? "several recordings as one"
						      : "imported sums");
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
	struct err *err =
		sums_create_inclusive(asked->dataset->recording, asked->dataset->symbolized,
				      asked->selection->bits, asked->by[0], &asked->sums);

	if (err)
		return reply_refuse_err(reply, err);
	asked->query.first = &asked->sums->groups;
	return NULL;
}

/* Takes the page of so many rows. *first: its first row. */
static struct err *take_page(const struct request *request, struct reply *reply, uint32_t rows,
			     uint64_t *first, uint64_t *count)
{
	uint64_t end;

	request_page(request, rows, first, &end);
	*count = end - *first;
	if (*count <= ROWS_MAX)
		return NULL;
	return reply_refuse(
		reply, MHD_HTTP_BAD_REQUEST,
		"invalid 'count': %ju rows are more than %d at once; fewer with 'count', "
		"the next ones with 'skip'",
		(uintmax_t)*count, ROWS_MAX);
}

/* The groups of those rows of the page that have a key, in their order. NULL: no memory. */
static uint32_t *groups_of_page(const struct asked *asked, uint32_t *count)
{
	uint32_t *groups = malloc((asked->count + 1) * sizeof(*groups));

	*count = 0;
	for (uint64_t i = 0; groups && i < asked->count; i++)
		if (asked->rows[i].first != RECORDING_NONE)
			groups[(*count)++] = asked->rows[i].first;
	return groups;
}

/*
 * A live table does not know when its blocks were allocated, and what was before them. Sums alone
 * have no blocks.
 */
static bool has_lives(const struct asked *asked)
{
	return !asked->dataset->facts->live && !dataset_has_sums_alone(asked->dataset);
}

/* Judges how the rows of the page grew. What CULL only counted did not. */
static struct err *judge_shapes(struct asked *asked)
{
	auto_free struct shape_input *inputs = NULL;
	auto_free uint32_t *groups = NULL;
	uint32_t count, next = 0;
	struct err *err;

	if (!asked->judged || !has_lives(asked))
		return NULL;
	groups = groups_of_page(asked, &count);
	asked->shapes = calloc(asked->count + 1, sizeof(*asked->shapes));
	if (!groups || !asked->shapes)
		return err_no_memory();
	err = shape_sums_create(asked->dataset->recording, asked->query.bits, asked->query.first,
				groups, count, &inputs);
	for (uint64_t i = 0; !err && i < asked->count; i++)
		if (asked->rows[i].first != RECORDING_NONE)
			asked->shapes[i] =
				shape_judge_run(&inputs[next++], asked->sums->duration_ns);
	return err;
}

/* Sums the chains of reallocs of rows that have a key. What CULL only counted has none. */
static struct err *sum_page_chains(struct asked *asked)
{
	auto_free uint32_t *groups = NULL;
	uint32_t count;

	if (!asked->chained || !has_lives(asked))
		return NULL;
	groups = groups_of_page(asked, &count);
	if (!groups)
		return err_no_memory();
	return sums_chains(asked->dataset->recording, asked->query.bits, asked->query.first, groups,
			   count, &asked->chains);
}

/* Makes the curves of the page. */
static struct err *draw_curves(struct reply *reply, struct asked *asked)
{
	struct series_query query = {
		.bits = asked->query.bits,
		.end_ns = asked->sums->duration_ns,
		.steps = asked->spark,
		.groups = asked->query.first,
	};
	auto_free uint32_t *groups = NULL;
	uint32_t count;

	if (!asked->spark || dataset_has_sums_alone(asked->dataset))
		return NULL;
	if (asked->count * asked->spark > POINTS_MAX)
		return reply_refuse(
			reply, MHD_HTTP_BAD_REQUEST,
			"invalid 'spark': %ju rows would have more than %ju points; fewer "
			"rows with 'count'",
			(uintmax_t)asked->count, (uintmax_t)POINTS_MAX);
	groups = groups_of_page(asked, &count);
	if (!groups)
		return err_no_memory();
	return series_create_of(asked->dataset->recording, &query, groups, count, &asked->series);
}

static struct sums_page page_of(const struct asked *asked)
{
	return (struct sums_page){
		.recording = asked->dataset->recording,
		.symbolized = asked->dataset->symbolized,
		.keys = asked->keys,
		.groups = {asked->query.first, asked->query.second},
		.sums = asked->sums,
		.rows = asked->rows,
		.count = asked->count,
		.series = asked->series,
		.shapes = asked->shapes,
		.chains = asked->chains,
		.identities = asked->identities,
	};
}

static struct err *put_sums(struct json_writer *json, const struct asked *asked)
{
	struct sums_page page = page_of(asked);
	struct err *err;

	dataset_lock(asked->dataset);
	err = sums_json_put(json, &page);
	dataset_unlock(asked->dataset);
	return err;
}

static struct err *add_csv(struct sums_csv *csv, const char *side, const struct asked *asked)
{
	struct sums_page page = page_of(asked);
	struct err *err;

	dataset_lock(asked->dataset);
	err = sums_csv_add(csv, side, &page);
	dataset_unlock(asked->dataset);
	return err;
}

/* Writes the page in the form that the route has. */
static struct err *write_page(const struct request *request, const struct asked *asked,
			      struct buf *buf)
{
	cleanup(sums_csv_deinit) struct sums_csv csv = {0};
	struct json_writer json;
	struct err *err;

	if (request->route->answer == route_sums) {
		json_init(&json, buf, false);
		return put_sums(&json, asked);
	}
	err = add_csv(&csv, NULL, asked);
	return err ? err : sums_csv_write(&csv, buf);
}

/* What each row has of its own blocks is not made of pairs, nor of inclusive rows. */
static struct err *check_columns(struct reply *reply, const struct asked *asked)
{
	const char *wrong = asked->spark     ? "spark"
			    : asked->judged  ? "shapes"
			    : asked->chained ? "chains"
					     : NULL;

	if (!wrong || (asked->keys < SUMS_KEYS && !asked->inclusive))
		return NULL;
	return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
			    "invalid '%s': not by two keys, and not of inclusive sums", wrong);
}

/* Reads what is no filter. */
static struct err *take_sums_query(const struct request *request, struct reply *reply,
				   struct asked *asked)
{
	struct err *err = take_keys(request, reply, asked);

	asked->inclusive = request->choices[PARAMETER_SUMS_INCLUSIVE] == 1;
	if (!err && !reply->status && asked->inclusive &&
	    (asked->keys == SUMS_KEYS || !block_groups_are_frames(asked->by[0])))
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'inclusive': only by one of function, file, line and "
				    "module");
	if (!err && !reply->status)
		err = request_number(request, reply, PARAMETER_SUMS_SPARK, 1, SPARK_MAX,
				     &asked->spark);
	asked->judged = request->choices[PARAMETER_SUMS_SHAPES] == 1;
	asked->chained = request->choices[PARAMETER_SUMS_CHAINS] == 1;
	asked->identities = request->choices[PARAMETER_SUMS_IDENTITIES] == 1;
	return err || reply->status ? err : check_columns(reply, asked);
}

/* Makes the sums of a request. */
static struct err *make_sums(struct request *request, struct reply *reply, struct asked *asked)
{
	struct err *err;

	asked->dataset = request->dataset;
	err = take_sums_query(request, reply, asked);
	if (err || reply->status)
		return err;
	dataset_lock(request->dataset);
	err = find_blocks(request, reply, asked);
	if (!err && !reply->status && asked->inclusive)
		err = sum_inclusive(reply, asked);
	dataset_unlock(request->dataset);
	if (err || reply->status || asked->sums)
		return err;
	err = sums_create(request->dataset->recording, &asked->query, &asked->sums);
	return err ? request_refuse_err(request, reply, err_prefix(err, "by")) : NULL;
}

static enum sums_order order_of(const struct request *request)
{
	return (enum sums_order)request->choices[PARAMETER_SUMS_SORT];
}

static struct err *answer_sums(const struct request *request, struct reply *reply,
			       struct asked *asked)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	enum sums_order order = order_of(request);
	bool ascending = order == SUMS_FIRST || order == SUMS_LAST || order == SUMS_KEY;
	uint64_t first = 0;
	struct err *err;

	sums_sort(asked->sums, &asked->query, order, request_descends(request, !ascending));
	err = take_page(request, reply, asked->sums->count, &first, &asked->count);
	asked->rows = asked->sums->rows + first;
	if (!err && !reply->status)
		err = draw_curves(reply, asked);
	if (!err && !reply->status)
		err = judge_shapes(asked);
	if (!err && !reply->status)
		err = sum_page_chains(asked);
	if (err || reply->status)
		return err;
	err = write_page(request, asked, &buf);
	return err ? err : reply_whole(reply, &buf);
}

/* Refuses what a difference does not have. */
static struct err *check_change(const struct request *request, struct reply *reply,
				const struct asked *asked)
{
	bool merged = request->dataset != request->before->dataset;

	if (!sums_change_has_order(order_of(request)))
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'sort_by': a difference is sorted by how much bytes, "
				    "blocks, leaked, total, calls, temporary, slack, own_peak or "
				    "growth changed");
	for (size_t i = 0; merged && i < asked->keys; i++)
		if (asked->by[i] == BLOCK_GROUPS_LINE || asked->by[i] == BLOCK_GROUPS_PLACE)
			return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
					    "invalid 'by': two builds have other lines for the "
					    "same code; by=function and by=site can be compared");
	if (merged && asked->spark && !block_groups_of_sites(asked->query.first))
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "invalid 'spark': of two recordings there are curves by site, "
				    "function, file and module");
	return NULL;
}

/* Makes the page of both sides. */
static struct err *take_change(const struct request *request, struct reply *reply,
			       struct asked asked[DIFF_SIDES], struct sums_change_page *page)
{
	uint64_t first = 0;
	struct err *err = take_page(request, reply, page->change->count, &first, &page->count);

	for (int i = 0; !err && !reply->status && i < DIFF_SIDES; i++) {
		asked[i].rows = page->change->rows[i] + first;
		asked[i].count = page->count;
		asked[i].sums->count = page->change->count;
		page->sides[i] = (struct sums_side){asked[i].sums, &asked[i].query};
		page->rows[i] = asked[i].rows;
		err = draw_curves(reply, &asked[i]);
		if (!err && !reply->status)
			err = judge_shapes(&asked[i]);
		if (!err && !reply->status)
			err = sum_page_chains(&asked[i]);
	}
	return err;
}

static struct err *put_change(const struct asked asked[DIFF_SIDES],
			      const struct sums_change_page *page, struct buf *buf)
{
	struct json_writer json;
	struct err *err;

	json_init(&json, buf, false);
	json_object(&json);
	json_key(&json, "before");
	err = put_sums(&json, &asked[DIFF_BEFORE]);
	json_key(&json, "after");
	if (!err)
		err = put_sums(&json, &asked[DIFF_AFTER]);
	if (err)
		return err;
	sums_json_field_change(&json, page);
	json_end(&json);
	return NULL;
}

/* Writes a page of a difference in the form that the route has. */
static struct err *write_change(const struct request *request, const struct asked asked[DIFF_SIDES],
				const struct sums_change_page *page, struct buf *buf)
{
	cleanup(sums_csv_deinit) struct sums_csv csv = {0};
	struct err *err;

	if (request->route->answer == route_sums)
		return put_change(asked, page, buf);
	err = add_csv(&csv, "before", &asked[DIFF_BEFORE]);
	if (!err)
		err = add_csv(&csv, "after", &asked[DIFF_AFTER]);
	if (err)
		return err;
	sums_csv_add_change(&csv, page);
	return sums_csv_write(&csv, buf);
}

static struct err *answer_change(const struct request *request, struct reply *reply,
				 struct asked asked[DIFF_SIDES])
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	cleanup(sums_change_deinit) struct sums_change change = {0};
	const struct sums_side sides[DIFF_SIDES] = {
		{asked[DIFF_BEFORE].sums, &asked[DIFF_BEFORE].query},
		{asked[DIFF_AFTER].sums, &asked[DIFF_AFTER].query},
	};
	struct sums_change_page page = {.change = &change};
	struct err *err = check_change(request, reply, &asked[DIFF_AFTER]);

	if (err || reply->status)
		return err;
	err = sums_change_create(sides, order_of(request), request_descends(request, true),
				 &change);
	if (!err)
		err = take_change(request, reply, asked, &page);
	if (!err && !reply->status)
		err = write_change(request, asked, &page, &buf);
	return err || reply->status ? err : reply_whole(reply, &buf);
}

struct err *route_sums(struct request *request, struct reply *reply)
{
	struct asked asked[DIFF_SIDES] = {0};
	struct err *err = make_sums(request, reply, &asked[DIFF_AFTER]);

	if (!err && !reply->status && request->before)
		err = make_sums(request->before, reply, &asked[DIFF_BEFORE]);
	if (!err && !reply->status)
		err = request->before ? answer_change(request, reply, asked)
				      : answer_sums(request, reply, &asked[DIFF_AFTER]);
	for (int i = 0; i < DIFF_SIDES; i++)
		asked_deinit(&asked[i]);
	return err;
}

struct err *route_sums_csv(struct request *request, struct reply *reply)
{
	return route_sums(request, reply);
}
