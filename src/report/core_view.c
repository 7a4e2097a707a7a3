#include "report/core_view.h"

#include <stdlib.h>

#include "hosted/cleanup.h"
#include "report/site_order.h"

void core_view_deinit(struct core_view *view)
{
	free(view->order);
	free(view->sizes);
	free(view->first);
	*view = (struct core_view){0};
}

/* Sorts the sizes of all blocks by site, and those of each site by address. */
static struct err *sort_sizes(struct core_view *view, uint32_t site_count)
{
	const struct block_columns *blocks = recording_blocks(view->recording);
	const uint32_t *by_address;
	auto_free uint32_t *next = NULL;
	struct err *err = recording_block_order(view->recording, BLOCK_ORDER_ADDRESS, &by_address);

	if (err)
		return err;
	view->sizes = calloc(blocks->count + 1, sizeof(*view->sizes));
	view->first = calloc((size_t)site_count + 2, sizeof(*view->first));
	next = calloc((size_t)site_count + 1, sizeof(*next));
	if (!view->sizes || !view->first || !next)
		return err_no_memory();
	for (uint64_t i = 0; i < blocks->count; i++)
		view->first[blocks->site[i] + 1]++;
	for (uint32_t i = 0; i < site_count; i++) {
		view->first[i + 1] += view->first[i];
		next[i] = view->first[i];
	}
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint32_t block = by_address[i];

		view->sizes[next[blocks->site[block]]++] = blocks->size[block];
	}
	return NULL;
}

struct err *core_view_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct core_view_options *options, struct core_view *ret)
{
	cleanup(core_view_deinit) struct core_view view = {
		.options = *options, .recording = recording, .symbolized = symbolized};
	uint32_t site_count;
	const struct site *sites = recording_sites(recording, &site_count);
	struct err *err =
		site_order_live(sites, site_count, options->by_count, &view.order, &view.live);

	if (!err)
		err = sort_sizes(&view, site_count);
	if (err)
		return err;
	view.shown = options->top && options->top < view.live ? options->top : view.live;
	*ret = view;
	view = (struct core_view){0};
	return NULL;
}
