#include "analysis/views/series_stored.h"

#include <stdlib.h>

#include "analysis/recording_data.h"
#include "analysis/views/series_data.h"
#include "base/varint.h"
#include "hosted/cleanup.h"
#include "trace/cursor.h"

#define VERSION 2

/* The last version whose steps were equal: it does not say where they end. */
#define VERSION_EQUAL 1

static void put(struct buf *buf, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	buf_put(buf, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

/* What both know without the file: the whole run, by fate. */
static struct err *ask_whole(const struct recording *recording, uint32_t steps,
			     struct block_groups *groups, struct series_query *ret)
{
	const struct recording_facts *facts = recording_facts(recording);

	*ret = (struct series_query){
		.end_ns = facts->duration_ns,
		.steps = steps,
		.groups = groups,
	};
	return block_groups_create(recording, NULL, BLOCK_GROUPS_FATE, series_late_ns(facts),
				   groups);
}

/* The most live at the ends of a step. What was most within it is stored as what it was above. */
static uint64_t most_at_ends(const struct series *series, uint32_t step)
{
	uint64_t before = step ? series->all.points[step - 1].bytes : 0;
	uint64_t after = series->all.points[step].bytes;

	return before > after ? before : after;
}

static void put_curve(struct buf *buf, const struct series *series, uint32_t curve)
{
	const struct series_point *points = series->curves[curve].points;

	for (uint32_t i = 0; i < series->steps; i++) {
		put(buf, points[i].allocated_bytes);
		put(buf, points[i].allocated_blocks);
		put(buf, points[i].freed_bytes);
		put(buf, points[i].freed_blocks);
	}
}

static void put_series(struct buf *buf, const struct recording *recording,
		       const struct series *series)
{
	buf_char(buf, VERSION);
	buf_put(buf, &recording->tables->fingerprint, sizeof(recording->tables->fingerprint));
	put(buf, series->steps);
	for (uint32_t i = 0; i < series->steps; i++)
		put(buf, series->ends[i] - (i ? series->ends[i - 1] : 0));
	put(buf, series->peak_ns);
	put(buf, series->peak_bytes);
	put(buf, series->peak_blocks);
	put(buf, (uint32_t)(series->peak_thread + 1));
	put(buf, (uint32_t)(series->peak_site + 1));
	for (uint32_t i = 0; i < series->curve_count; i++)
		put_curve(buf, series, i);
	for (uint32_t i = 0; i < series->steps; i++)
		put(buf, series->most[i] - most_at_ends(series, i));
	for (uint32_t i = 0; i < series->steps; i++)
		put(buf, zigzag((int64_t)(series->slack[i] - (i ? series->slack[i - 1] : 0))));
}

static void fill_series(const struct recording *recording, const struct facts_curve *curve,
			struct series *series)
{
	const struct recording_summary *sum = recording_summary(recording);
	const struct facts_walk *walk = recording->blocks->store.facts;

	memcpy(series->ends, curve->ends_ns, series->steps * sizeof(*series->ends));
	memcpy(series->slack, curve->slack_at, series->steps * sizeof(*series->slack));
	series_fill_curve(series, FATE_NEVER_FREED, &(struct curve_flow){0}, curve->never, 1);
	series_fill_curve(series, FATE_FREED_LATE, &(struct curve_flow){0}, curve->late, 1);
	series_fill_curve(series, FATE_FREED_SOON, &(struct curve_flow){0}, curve->soon, 1);
	for (uint32_t i = 0; i < series->steps; i++) {
		uint64_t ends = most_at_ends(series, i);

		series->most[i] = curve->most[i] > ends ? curve->most[i] : ends;
	}
	series->peak_ns = sum->peak_time_ns;
	series->peak_bytes = sum->peak_bytes;
	series->peak_blocks = sum->peak_blocks;
	series->peak_thread = walk->peak_thread;
	series->peak_site = walk->peak_site;
}

struct err *series_keep(struct recording *recording)
{
	cleanup(block_groups_deinit) struct block_groups groups = {0};
	cleanup(series_destroy_at) struct series *series = NULL;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	const struct facts_walk *walk = recording->blocks->store.facts;
	const struct recording_facts *facts = recording_facts(recording);
	struct series_query query;
	struct err *err;

	if (!walk || !walk->curve || recording->blocks->store.count < SERIES_STORED_FROM ||
	    facts->writing || facts->damaged_chunks)
		return NULL;
	if (walk->curve->failed)
		return err_no_memory();
	err = ask_whole(recording, walk->curve->cells, &groups, &query);
	if (!err)
		err = series_make(&query, FATE_COUNT, &series);
	if (err)
		return err;
	// A run of few nanoseconds has fewer steps than ticks.
	if (series->steps < walk->curve->cells)
		return NULL;
	fill_series(recording, walk->curve, series);
	put_series(&buf, recording, series);
	err = buf_finish(&buf);
	if (err)
		return err;
	free(recording->tables->curve);
	recording->tables->curve_size = buf.size;
	recording->tables->curve = (uint8_t *)steal(&buf.data);
	return NULL;
}

const uint8_t *series_stored_bytes(const struct recording *recording, size_t *size)
{
	*size = recording->tables->curve_size;
	return recording->tables->curve;
}

/* Reads an index below count plus 1, or 0 for none. */
static uint32_t take_index_or_none(struct cursor *cursor, uint64_t count)
{
	uint64_t value = cursor_varint(cursor);

	if (value > count)
		cursor_fail(cursor);
	return value > count ? RECORDING_NONE : (uint32_t)value - 1;
}

static void take_curve(struct cursor *cursor, struct series *series, uint32_t curve)
{
	struct series_point before = {0};

	for (uint32_t i = 0; i < series->steps; i++) {
		struct series_point *point = &series->curves[curve].points[i];
		struct series_point *all = &series->all.points[i];

		point->allocated_bytes = cursor_varint(cursor);
		point->allocated_blocks = cursor_varint(cursor);
		point->freed_bytes = cursor_varint(cursor);
		point->freed_blocks = cursor_varint(cursor);
		point->bytes = before.bytes + point->allocated_bytes - point->freed_bytes;
		point->blocks = before.blocks + point->allocated_blocks - point->freed_blocks;
		before = *point;
		series_point_add(all, point);
	}
}

/* false: they do not rise to the end of the run. */
static bool take_ends(struct cursor *cursor, uint64_t duration_ns, struct series *series)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < series->steps; i++) {
		uint64_t more = cursor_varint(cursor);

		if (more > duration_ns - end)
			return false;
		series->ends[i] = end += more;
	}
	return end == duration_ns;
}

static void take_series(struct cursor *cursor, const struct recording *recording,
			struct series *series)
{
	uint32_t threads, sites;

	recording_threads(recording, &threads);
	recording_sites(recording, &sites);
	series->peak_ns = cursor_varint(cursor);
	series->peak_bytes = cursor_varint(cursor);
	series->peak_blocks = cursor_varint(cursor);
	series->peak_thread = take_index_or_none(cursor, threads);
	series->peak_site = take_index_or_none(cursor, sites);
	for (uint32_t i = 0; i < series->curve_count; i++)
		take_curve(cursor, series, i);
	for (uint32_t i = 0; i < series->steps; i++)
		series->most[i] = most_at_ends(series, i) + cursor_varint(cursor);
	for (uint32_t i = 0; i < series->steps; i++)
		series->slack[i] = (i ? series->slack[i - 1] : 0) + (uint64_t)cursor_signed(cursor);
}

struct err *series_read_stored(const struct recording *recording, struct series **ret)
{
	cleanup(block_groups_deinit) struct block_groups groups = {0};
	cleanup(series_destroy_at) struct series *series = NULL;
	const struct recording_facts *facts = recording_facts(recording);
	struct cursor cursor = cursor_make(recording->tables->curve, recording->tables->curve_size);
	struct series_query query;
	const uint8_t *fingerprint;
	uint64_t version, steps;
	struct err *err;

	*ret = NULL;
	if (!recording->tables->curve || facts->damaged_chunks || facts->filtered)
		return NULL;
	version = cursor_u8(&cursor);
	if (version != VERSION && version != VERSION_EQUAL)
		return NULL;
	fingerprint = cursor_bytes(&cursor, sizeof(recording->tables->fingerprint));
	if (!fingerprint || bytes_u64(fingerprint) != recording->tables->fingerprint)
		return NULL;
	steps = cursor_varint(&cursor);
	if (cursor.failed || !steps || steps > SERIES_STORED_STEPS)
		return NULL;
	err = ask_whole(recording, (uint32_t)steps, &groups, &query);
	if (!err)
		err = series_make(&query, FATE_COUNT, &series);
	if (err)
		return err;
	// A run of fewer nanoseconds has no such steps.
	if (series->steps != steps ||
	    (version != VERSION_EQUAL && !take_ends(&cursor, facts->duration_ns, series)))
		return NULL;
	take_series(&cursor, recording, series);
	if (!cursor.failed && cursor.at == cursor.end)
		*ret = steal(&series);
	return NULL;
}
