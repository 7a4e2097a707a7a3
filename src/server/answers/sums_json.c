#include "server/answers/sums_json.h"

#include <stdlib.h>

#include "analysis/facts/chain_facts.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "server/answers/group_json.h"
#include "server/answers/rest_json.h"

static void put_all(struct json_writer *json, const struct sums *sums)
{
	const struct sums_row *all = &sums->all;

	json_key(json, "all");
	json_object(json);
	json_field_u64(json, "bytes", all->sum.peak_bytes);
	json_field_u64(json, "blocks", all->sum.peak_blocks);
	json_field_u64(json, "leaked", all->sum.leaked_bytes);
	json_field_u64(json, "total", all->sum.total_bytes);
	json_field_u64(json, "calls", all->sum.calls);
	json_field_u64(json, "temporary", all->sum.temporary);
	json_field_u64(json, "slack", all->slack);
	json_end(json);
}

static void sums_keys_deinit(struct sums_keys *keys)
{
	free(keys->groups);
	free(keys->indices);
}

static struct err *find_page_keys(const struct sums_page *page, size_t key, struct sums_keys *keys)
{
	cleanup(map_deinit) struct map found = {0};

	keys->groups = malloc((page->count + 1) * sizeof(*keys->groups));
	keys->indices = malloc((page->count + 1) * sizeof(*keys->indices));
	if (!keys->groups || !keys->indices)
		return err_no_memory();
	for (uint64_t i = 0; i < page->count; i++) {
		uint32_t group = key ? page->rows[i].second : page->rows[i].first;
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

static void put_indices(struct json_writer *json, const char *key, const struct sums_keys *keys,
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

static struct err *put_key(struct columns *columns, const struct sums_page *page, size_t key,
			   struct sums_keys *keys)
{
	struct err *err = find_page_keys(page, key, keys);

	columns->places = keys->indices;
	if (!err)
		err = group_json_put_table(columns, page->recording, page->symbolized,
					   page->groups[key], keys->groups, keys->count,
					   page->identities);
	columns->places = NULL;
	return err;
}

static struct err *put_keys(struct json_writer *json, const struct sums_page *page)
{
	cleanup(sums_keys_deinit) struct sums_keys first = {0};
	cleanup(sums_keys_deinit) struct sums_keys second = {0};
	struct sums_keys *keys[SUMS_KEYS] = {&first, &second};
	struct columns columns = {.json = json};
	struct err *err = NULL;

	json_key(json, "keys");
	json_array(json);
	for (size_t i = 0; !err && i < page->keys && i < SUMS_KEYS; i++)
		err = put_key(&columns, page, i, keys[i]);
	if (err)
		return err;
	json_end(json);
	put_indices(json, "key", &first, page->count);
	put_indices(json, "second", &second, page->count);
	return NULL;
}

/* Writes a column: an expression of each row, or null where `has` is false. */
#define OPTIONAL(key, has, value)                                                                  \
	do {                                                                                       \
		columns_begin(columns, key);                                                       \
		for (uint64_t i_ = 0; i_ < page->count; i_++) {                                    \
			const struct sums_row *row = &page->rows[i_];                              \
                                                                                                   \
			if (has)                                                                   \
				columns_u64(columns, value);                                       \
			else                                                                       \
				columns_null(columns);                                             \
		}                                                                                  \
		columns_end(columns);                                                              \
	} while (0)

#define COLUMN(key, field) OPTIONAL(key, true, row->field)

static void put_columns(struct columns *columns, const struct sums_page *page)
{
	COLUMN("bytes", sum.peak_bytes);
	COLUMN("blocks", sum.peak_blocks);
	COLUMN("leaked", sum.leaked_bytes);
	COLUMN("total", sum.total_bytes);
	COLUMN("calls", sum.calls);
	COLUMN("temporary", sum.temporary);
	COLUMN("slack", slack);
	OPTIONAL("own_peak", row->spans && !row->of_sites, row->sum.own_peak_bytes);
	columns_object(columns, "lifetimes", "lifetimes");
	COLUMN("freed", freed);
	OPTIONAL("mean_ns", row->freed, sums_mean_life(row));
	OPTIONAL("longest_ns", row->freed, row->longest_ns);
	columns_object_end(columns);
	OPTIONAL("first", row->spans, row->first_ns);
	OPTIONAL("last", row->spans, row->last_ns);
	columns_begin(columns, "growth");
	for (uint64_t i = 0; i < page->count; i++)
		columns_i64(columns, sums_growth(page->sums, &page->rows[i]));
	columns_end(columns);
}

static void put_curves(struct json_writer *json, const struct sums_page *page)
{
	const struct series *series = page->series;

	json_key(json, "spark_ns");
	json_array(json);
	for (uint32_t i = 0; series && i < series->steps; i++)
		json_u64(json, series->ends[i]);
	json_end(json);
	json_key(json, "curve");
	json_array(json);
	for (uint64_t i = 0, next = 0; series && i < page->count; i++) {
		const struct series_curve *curve = &series->curves[next];

		// What CULL only counted was never live.
		json_array(json);
		for (uint32_t j = 0; j < series->steps; j++)
			json_u64(json, page->rows[i].first == RECORDING_NONE
					       ? 0
					       : curve->points[j].bytes);
		json_end(json);
		next += page->rows[i].first != RECORDING_NONE;
	}
	json_end(json);
}

/* Writes a column: an expression of each row's shape. */
#define SHAPES(key, put, value)                                                                    \
	do {                                                                                       \
		json_key(json, key);                                                               \
		json_array(json);                                                                  \
		for (uint64_t i_ = 0; i_ < page->count; i_++) {                                    \
			const struct shape_result *shape = &page->shapes[i_];                      \
                                                                                                   \
			put(json, value);                                                          \
		}                                                                                  \
		json_end(json);                                                                    \
	} while (0)

/* How the never freed bytes of rows grew. */
static void put_shapes(struct json_writer *json, const struct sums_page *page)
{
	uint64_t ends_ns[FACTS_POINTS];

	json_key(json, "shapes");
	if (!page->shapes) {
		json_null(json);
		return;
	}
	facts_equal_ends(page->sums->duration_ns, ends_ns);
	json_object(json);
	SHAPES("shape", json_text, shape_word(shape->shape));
	SHAPES("trust", json_text, finding_trust_name(shape->trust));
	SHAPES("since_ns", json_u64, shape_begin_ns(ends_ns, shape->first));
	SHAPES("until_ns", json_u64, ends_ns[shape->last]);
	SHAPES("steps", json_u64, shape->steps);
	json_key(json, "rate");
	json_array(json);
	for (uint64_t i = 0; i < page->count; i++)
		json_u64(json,
			 shape_rate(&page->shapes[i], page->rows[i].sum.leaked_bytes, ends_ns));
	json_end(json);
	json_end(json);
}

/* Writes a column of chains: an expression of each row's. Rows without a key have none. */
#define CHAINS(key, value)                                                                         \
	do {                                                                                       \
		const struct chain_facts *chain = page->chains;                                    \
                                                                                                   \
		json_key(json, key);                                                               \
		json_array(json);                                                                  \
		for (uint64_t i_ = 0; i_ < page->count; i_++) {                                    \
			if (page->rows[i_].first == RECORDING_NONE) {                              \
				json_u64(json, 0);                                                 \
				continue;                                                          \
			}                                                                          \
			json_u64(json, value);                                                     \
			chain++;                                                                   \
		}                                                                                  \
		json_end(json);                                                                    \
	} while (0)

static void put_chains(struct json_writer *json, const struct sums_page *page)
{
	uint64_t covered;

	json_key(json, "chains");
	if (!page->chains) {
		json_null(json);
		return;
	}
	json_object(json);
	CHAINS("steps", chain->steps);
	CHAINS("copied", chain->copied);
	CHAINS("ended", chain_facts_ended(chain));
	CHAINS("reserve", chain_facts_ended(chain) ? chain_facts_reserve(chain, &covered) : 0);
	CHAINS("covered", (chain_facts_reserve(chain, &covered), covered));
	json_end(json);
}

struct err *sums_json_put(struct json_writer *json, const struct sums_page *page)
{
	struct err *err;

	json_object(json);
	json_field_u64(json, "at_ns", page->sums->peak_ns);
	json_field_u64(json, "rows", page->sums->count);
	put_all(json, page->sums);
	err = put_keys(json, page);
	if (err)
		return err;
	put_columns(&(struct columns){.json = json}, page);
	put_curves(json, page);
	put_shapes(json, page);
	put_chains(json, page);
	json_end(json);
	return NULL;
}

/* The columns of changes, in the order of enum sums_order; all of them are sums but the last two.
 */
static const struct change_column {
	const char *key;
	enum sums_order order;
} change_columns[] = {
	{"bytes", SUMS_BYTES}, {"blocks", SUMS_BLOCKS},     {"leaked", SUMS_LEAKED},
	{"total", SUMS_TOTAL}, {"calls", SUMS_CALLS},       {"temporary", SUMS_TEMPORARY},
	{"slack", SUMS_SLACK}, {"own_peak", SUMS_OWN_PEAK}, {"growth", SUMS_GROWTH},
};
#define CHANGE_COLUMNS (ARRAY_COUNT(change_columns))

static bool is_known(const struct sums_row *row, enum sums_order order)
{
	return order != SUMS_OWN_PEAK || !row->of_sites;
}

static void put_change(struct columns *columns, const struct sums_change_page *page,
		       const struct change_column *column)
{
	columns_begin(columns, column->key);
	for (uint64_t i = 0; i < page->count; i++) {
		const struct sums_row *before = &page->rows[DIFF_BEFORE][i];
		const struct sums_row *after = &page->rows[DIFF_AFTER][i];

		if (is_known(before, column->order) && is_known(after, column->order))
			columns_i64(columns,
				    sums_change_of(page->sides, column->order, before, after));
		else
			columns_null(columns);
	}
	columns_end(columns);
}

static void put_changes(struct columns *columns, const struct sums_change_page *page)
{
	for (size_t i = 0; i < CHANGE_COLUMNS; i++)
		put_change(columns, page, &change_columns[i]);
}

void sums_json_field_change(struct json_writer *json, const struct sums_change_page *page)
{
	json_key(json, "change");
	json_object(json);
	json_key(json, "all");
	json_object(json);
	for (size_t i = 0; i < CHANGE_COLUMNS && change_columns[i].order <= SUMS_SLACK; i++)
		json_field_i64(json, change_columns[i].key,
			       sums_change_of(page->sides, change_columns[i].order,
					      &page->sides[DIFF_BEFORE].sums->all,
					      &page->sides[DIFF_AFTER].sums->all));
	json_end(json);
	put_changes(&(struct columns){.json = json}, page);
	json_end(json);
}

void sums_csv_deinit(struct sums_csv *csv)
{
	columns_deinit(&csv->columns);
	for (size_t i = 0; i < ARRAY_COUNT(csv->keys); i++)
		sums_keys_deinit(&csv->keys[i]);
}

struct err *sums_csv_add(struct sums_csv *csv, const char *side, const struct sums_page *page)
{
	struct err *err = NULL;

	if (side)
		columns_object(&csv->columns, NULL, side);
	for (size_t i = 0; !err && i < page->keys; i++)
		err = put_key(&csv->columns, page, i, &csv->keys[csv->key_count++]);
	put_columns(&csv->columns, page);
	if (side)
		columns_object_end(&csv->columns);
	csv->rows = page->count;
	return err;
}

void sums_csv_add_change(struct sums_csv *csv, const struct sums_change_page *page)
{
	columns_object(&csv->columns, NULL, "change");
	put_changes(&csv->columns, page);
	columns_object_end(&csv->columns);
}

struct err *sums_csv_write(const struct sums_csv *csv, struct buf *buf)
{
	return columns_write(&csv->columns, csv->rows, buf);
}
