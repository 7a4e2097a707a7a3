#include "analysis/trees/flame_values.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/blocks/block_temporary.h"
#include "analysis/blocks/live_changes.h"
#include "analysis/recording_data.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread, and the values that it fills. */
#define PIECE_MIN ((uint64_t)1 << 18)

#define BLOCK_NONE UINT64_MAX

struct pass {
	const struct block_columns *blocks;
	const uint64_t *bits;      /* those that match; NULL: all */
	const uint64_t *temporary; /* NULL: neither the metric nor a column needs them */
	enum flame_metric metric;
	bool counts;
	/* Of PEAK: the block whose allocation reached it; BLOCK_NONE: nothing was ever live. */
	uint64_t peak;
	uint64_t end_ns;
	uint64_t sample_mean; /* 0: each block counts once */
	size_t sites, pieces;
	struct flame_value *values; /* of each piece, for each site */
};

static bool counts(const struct pass *pass, uint64_t i)
{
	const struct block_columns *blocks = pass->blocks;

	if (pass->metric == FLAME_PEAK || pass->metric == FLAME_BLOCKS)
		return i <= pass->peak && blocks->free_turn[i] > pass->peak &&
		       pass->peak != BLOCK_NONE;
	if (pass->metric == FLAME_TEMPORARY)
		return block_bits_has(pass->temporary, i);
	return pass->metric != FLAME_LEAKED || blocks->freed_ns[i] == TIME_NEVER;
}

static uint64_t weight_of(const struct pass *pass, uint64_t i)
{
	uint64_t mean = pass->sample_mean;

	return mean ? sample_weight(mean, pass->blocks->size[i], i + 1) : 1;
}

static void add(const struct pass *pass, struct flame_value *value, uint64_t i)
{
	const struct block_columns *blocks = pass->blocks;
	uint64_t size = blocks->size[i], end = blocks->freed_ns[i];
	uint64_t weight = weight_of(pass, i), amount = size;

	if (pass->metric == FLAME_SLACK)
		amount = blocks->slack[i];
	else if (pass->metric == FLAME_CALLS || pass->metric == FLAME_TEMPORARY ||
		 pass->metric == FLAME_BLOCKS)
		amount = 1;
	value->value += weight * amount;
	value->blocks += weight;
	if (end == TIME_NEVER) {
		value->leaked += weight * size;
		end = pass->end_ns;
	}
	if (end > blocks->allocated_ns[i])
		value->lived_ns += (double)weight * (double)(end - blocks->allocated_ns[i]);
}

static void add_counts(const struct pass *pass, struct flame_value *value, uint64_t i)
{
	uint64_t weight = weight_of(pass, i);

	value->calls += weight;
	if (block_bits_has(pass->temporary, i))
		value->temporary += weight;
}

static void add_piece(void *argument, size_t number)
{
	const struct pass *pass = argument;
	struct flame_value *values = pass->values + number * pass->sites;
	uint64_t length = pass->blocks->count / pass->pieces + 1, begin = number * length;
	uint64_t end = begin + length < pass->blocks->count ? begin + length : pass->blocks->count;

	for (uint64_t i = block_bits_next(pass->bits, end, begin); i < end;
	     i = block_bits_next(pass->bits, end, i + 1)) {
		if (counts(pass, i))
			add(pass, &values[pass->blocks->site[i]], i);
		if (pass->counts)
			add_counts(pass, &values[pass->blocks->site[i]], i);
	}
}

/* The values of the first piece become those of all. */
static struct err *add_blocks(struct pass *pass, struct flame_value **ret)
{
	pass->pieces = parallel_pieces(pass->blocks->count, PIECE_MIN);
	pass->values = calloc(pass->pieces * pass->sites + 1, sizeof(*pass->values));
	if (!pass->values)
		return err_no_memory();
	parallel_run(add_piece, pass, pass->pieces);
	for (size_t i = pass->sites; i < pass->pieces * pass->sites; i++) {
		struct flame_value *value = &pass->values[i % pass->sites];

		value->value += pass->values[i].value;
		value->blocks += pass->values[i].blocks;
		value->leaked += pass->values[i].leaked;
		value->lived_ns += pass->values[i].lived_ns;
		value->calls += pass->values[i].calls;
		value->temporary += pass->values[i].temporary;
	}
	*ret = pass->values;
	return NULL;
}

/* Takes sums from a site: they have what was culled, too, and a live table's sites have peaks. */
static void take_site(struct flame_value *value, const struct site *site,
		      const struct flame_options *options)
{
	if (options->counts) {
		value->calls = site->calls;
		value->temporary = site->temporary;
	}
	switch (options->metric) {
	case FLAME_PEAK:
		value->value = site->peak_bytes;
		value->blocks = site->peak_blocks;
		if (value->leaked > value->value)
			value->leaked = value->value;
		return;
	case FLAME_BLOCKS:
		value->value = value->blocks = site->peak_blocks;
		if (value->leaked > site->peak_bytes)
			value->leaked = site->peak_bytes;
		return;
	case FLAME_TOTAL:
		value->value = site->total_bytes;
		value->blocks = site->calls;
		return;
	case FLAME_CALLS:
		value->value = value->blocks = site->calls;
		return;
	case FLAME_LEAKED:
		value->value = value->leaked = site->leaked_bytes;
		value->blocks = site->leaked_blocks;
		return;
	case FLAME_TEMPORARY:
		value->value = value->blocks = site->temporary;
		return;
	case FLAME_SLACK:
	case FLAME_METRICS:
		return;
	}
}

/* The block whose allocation made most of those live that match. BLOCK_NONE: none did. */
static struct err *seek_peak(const struct pass *pass, uint64_t *ret)
{
	cleanup(live_changes_deinit) struct live_changes changes = {
		.blocks = pass->blocks,
		.bits = pass->bits,
		.sample_mean = pass->sample_mean,
		.end = pass->blocks->count,
	};
	struct err *err = live_changes_begin(&changes);
	uint64_t live = 0, most = 0;
	bool more = true;

	*ret = BLOCK_NONE;
	while (!err && more) {
		err = live_changes_next(&changes, &more);
		for (uint64_t i = changes.begin; !err && more && i < changes.stop; i++) {
			live += changes.changes[i - changes.begin];
			if (live <= most)
				continue;
			most = live;
			*ret = i;
		}
	}
	return err;
}

/* The peak's block. A recording without a filter mostly knows it. */
static struct err *find_peak(const struct recording *recording, struct pass *pass)
{
	pass->peak = pass->bits ? BLOCK_NONE : site_table_peak_block(&recording->sites);
	return pass->peak != BLOCK_NONE ? NULL : seek_peak(pass, &pass->peak);
}

struct err *flame_values_create(const struct flame_side *side, const struct flame_options *options,
				struct flame_value **ret)
{
	const struct recording *recording = side->recording;
	auto_free uint64_t *temporary = NULL;
	auto_free struct flame_value *values = NULL;
	struct pass pass = {
		.blocks = recording_blocks(recording),
		.bits = side->match ? side->match->words : NULL,
		.metric = options->metric,
		.counts = options->counts,
		.end_ns = recording_facts(recording)->duration_ns,
		.sample_mean = recording_facts(recording)->sample_mean,
	};
	struct err *err = NULL;
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	pass.sites = count;
	if (pass.metric == FLAME_PEAK || pass.metric == FLAME_BLOCKS)
		err = find_peak(recording, &pass);
	if (!err && (pass.metric == FLAME_TEMPORARY || pass.counts))
		err = block_temporary_find(recording, &temporary);
	pass.temporary = temporary;
	if (!err)
		err = add_blocks(&pass, &values);
	for (uint32_t i = 0; !err && !side->match && i < count; i++)
		take_site(&values[i], &sites[i], options);
	if (!err)
		*ret = steal(&values);
	return err;
}

struct err *flame_values_create_change(const struct flame_side sides[DIFF_SIDES],
				       enum diff_show show, const struct flame_options *options,
				       struct flame_value **ret)
{
	auto_free struct flame_value *before = NULL;
	auto_free struct flame_value *after = NULL;
	struct err *err = flame_values_create(&sides[DIFF_BEFORE], options, &before);
	uint32_t count;

	if (!err)
		err = flame_values_create(&sides[DIFF_AFTER], options, &after);
	if (err)
		return err;
	recording_sites(sides[DIFF_AFTER].recording, &count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t then = before[i].value, now = after[i].value;
		uint64_t value = diff_shown(show, then, now);

		// A stack that shows nothing is in no node, so it must be in no sum of one.
		if (!value) {
			after[i] = (struct flame_value){0};
			continue;
		}
		after[i].value = value;
		after[i].sides[DIFF_BEFORE] = then;
		after[i].sides[DIFF_AFTER] = now;
	}
	*ret = steal(&after);
	return NULL;
}
