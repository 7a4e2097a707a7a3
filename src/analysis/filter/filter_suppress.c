#include "analysis/filter/filter_suppress.h"

#include "analysis/filter/filter_keep.h"
#include "analysis/leaks/suppressed.h"
#include "hosted/cleanup.h"

struct err *filter_suppress(const struct filter *filter, const struct recording *recording,
			    struct symbolized *symbolized, struct filter_match *match)
{
	const struct block_columns *blocks = recording_blocks(recording);
	auto_free uint32_t *stacks = NULL;
	auto_free uint8_t *known = NULL; // for each site
	const struct site *sites;
	struct err *err;
	uint32_t count;

	if (!filter_has(filter, FILTER_SUPPRESS))
		return NULL;
	err = suppressed_stacks(filter->conditions[FILTER_SUPPRESS].suppressions, recording,
				symbolized, &stacks);
	if (err)
		return err;
	sites = recording_sites(recording, &count);
	known = malloc((size_t)count + 1);
	if (!known)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		known[i] = stacks[(uint32_t)(sites[i].stack + 1)] != 0;
	KEEP(match, blocks->freed_ns[i] != TIME_NEVER || !known[blocks->site[i]]);
	return NULL;
}
