/* Sums of all stacks that a function, file, line or module is in: from sums by site. */
#include <stdlib.h>

#include "analysis/sums/sums_data.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"

CLEANUP_DEFINE(struct sums *, sums_destroy);

struct inclusive {
	const struct sums_row **of_site; /* the sums of each site; NULL: it has none */
	VEC(struct sums_row) rows;
	bool failed; /* no memory */
};

static void inclusive_deinit(struct inclusive *inclusive)
{
	free(inclusive->of_site);
	vec_deinit(&inclusive->rows);
}

/* As breakdown_member. */
static void add_member(void *argument, uint32_t row, uint32_t site)
{
	struct inclusive *inclusive = argument;
	const struct sums_row *more = inclusive->of_site[site];
	struct sums_row *sum;

	while (!inclusive->failed && inclusive->rows.count <= row) {
		struct sums_row empty = {.first = (uint32_t)inclusive->rows.count,
					 .second = RECORDING_NONE};

		inclusive->failed = !vec_push(&inclusive->rows, empty);
	}
	if (inclusive->failed || !more)
		return;
	sum = &inclusive->rows.items[row];
	sum->of_sites = sum->calls != 0;
	sum->own_peak = sum->of_sites ? 0 : more->own_peak;
	sum->bytes += more->bytes;
	sum->blocks += more->blocks;
	sums_row_add(sum, more);
}

static struct err *find_rows_of_sites(const struct recording *recording, const struct sums *sums,
				      struct inclusive *inclusive)
{
	uint32_t count;

	recording_sites(recording, &count);
	inclusive->of_site = calloc((size_t)count + 1, sizeof(*inclusive->of_site));
	if (!inclusive->of_site)
		return err_no_memory();
	for (uint32_t i = 0; i < sums->count; i++)
		if (sums->rows[i].first != RECORDING_NONE)
			inclusive->of_site[sums->rows[i].first] = &sums->rows[i];
	return NULL;
}

/* Makes groups of the rows of the breakdown. */
static struct err *name_groups(struct sums *sums, enum block_groups_by by)
{
	const struct breakdown *breakdown = sums->breakdown;
	struct block_groups *groups = sums->groups = calloc(1, sizeof(*groups));

	if (!groups)
		return err_no_memory();
	groups->by = by;
	groups->names = malloc(((size_t)breakdown->count + 1) * sizeof(*groups->names));
	groups->frames = malloc(((size_t)breakdown->count + 1) * sizeof(*groups->frames));
	if (!groups->names || !groups->frames)
		return err_no_memory();
	for (uint32_t i = 0; i < breakdown->count; i++) {
		groups->names[i] = breakdown->rows[i].name;
		groups->frames[i] = breakdown->rows[i].frame;
	}
	groups->count = breakdown->count;
	return NULL;
}

static enum breakdown_by breakdown_of(enum block_groups_by by)
{
	switch (by) {
	case BLOCK_GROUPS_FILE:
		return BREAKDOWN_FILE;
	case BLOCK_GROUPS_LINE:
		return BREAKDOWN_LINE;
	case BLOCK_GROUPS_MODULE:
		return BREAKDOWN_MODULE;
	default:
		return BREAKDOWN_FUNCTION;
	}
}

struct err *sums_create_inclusive(const struct recording *recording, struct symbolized *symbolized,
				  const uint64_t *bits, const struct block_groups *sites,
				  enum block_groups_by by, struct sums **ret)
{
	cleanup(inclusive_deinit) struct inclusive inclusive = {0};
	cleanup(sums_destroy_at) struct sums *sums = NULL;
	struct sums_query query = {.bits = bits, .first = sites};
	struct err *err = sums_create(recording, &query, &sums);

	if (!err)
		err = find_rows_of_sites(recording, sums, &inclusive);
	if (!err)
		err = breakdown_create_members(breakdown_of(by), recording, symbolized, add_member,
					       &inclusive, &sums->breakdown);
	if (!err)
		err = inclusive.failed ? err_no_memory() : name_groups(sums, by);
	if (err)
		return err;
	free(sums->rows);
	sums->count = (uint32_t)inclusive.rows.count;
	sums->rows = steal(&inclusive.rows.items);
	sums_leave_out_empty(sums);
	*ret = steal(&sums);
	return NULL;
}
