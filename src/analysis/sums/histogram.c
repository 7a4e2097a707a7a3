#include "analysis/sums/histogram.h"

#include "analysis/sums/sums.h"
#include "hosted/cleanup.h"

static void add(struct histogram_sum *sum, const struct histogram_sum *more)
{
	sum->calls += more->calls;
	sum->bytes += more->bytes;
}

static void finish(struct histogram *histogram, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	histogram->first = histogram->end = 0;
	add(&histogram->all, &histogram->leaked);
	for (size_t i = 0; i < histogram->scale.count; i++) {
		add(&histogram->all, &histogram->classes[i]);
		if (!histogram->classes[i].calls)
			continue;
		if (!histogram->end)
			histogram->first = i;
		histogram->end = i + 1;
	}
	if (facts->filtered)
		return;
	histogram->culled.calls = facts->culled_allocations;
	histogram->culled.bytes = facts->culled_bytes;
	add(&histogram->all, &histogram->culled);
}

struct err *histogram_create(enum histogram_of of, const struct recording *recording,
			     const struct recording *from, const uint64_t *bits,
			     struct histogram *ret)
{
	cleanup(block_groups_deinit) struct block_groups groups = {0};
	cleanup(sums_destroy_at) struct sums *sums = NULL;
	struct sums_query query = {.bits = bits, .first = &groups, .brief = true};
	struct err *err = block_groups_create(
		from, NULL, of == HISTOGRAM_SIZE ? BLOCK_GROUPS_SIZE : BLOCK_GROUPS_LIFETIME, 0,
		&groups);

	if (!err)
		err = sums_create(from, &query, &sums);
	if (err)
		return err;
	*ret = (struct histogram){.of = of, .scale = groups.scale};
	for (uint32_t i = 0; i < sums->count; i++) {
		const struct sums_row *row = &sums->rows[i];
		struct histogram_sum sum = {row->sum.calls, row->sum.total_bytes};

		if (row->first < groups.scale.count)
			ret->classes[row->first] = sum;
		else if (row->first < groups.count)
			ret->leaked = sum;
	}
	finish(ret, recording);
	return NULL;
}
