#include "report/live_view.h"

#include "analysis/leaks/suppressed.h"
#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "report/export/collapsed.h"
#include "report/site_order.h"
#include "report/text/live_text.h"

CLEANUP_DEFINE(struct tree *, tree_destroy);

void live_view_deinit(struct live_view *view)
{
	free(view->order);
	*view = (struct live_view){0};
}

const char *live_key_name(enum live_key key)
{
	return key == LIVE_BY_COUNT ? "count" : "size";
}

/* The sites of order that no line of the file finds in their text, until enough are found. */
static struct err *leave_out(struct live_view *view, const struct site *sites)
{
	const struct live_ignore *ignore = view->options.ignore;
	struct style plain = {0};
	struct buf text;
	struct err *err = NULL;
	uint32_t kept = 0;

	buf_init(&text);
	for (uint32_t i = 0; !err && i < view->live; i++) {
		const struct site *site = &sites[view->order[i]];
		const char *string;

		text.size = 0;
		err = live_text_frames(&text, &plain, view, site->stack);
		string = err ? NULL : buf_string(&text);
		if (!err && !string)
			err = err_no_memory();
		if (string && live_ignore_has_text(ignore, string)) {
			view->ignored_sites++;
			view->ignored_bytes += site->leaked_bytes;
		} else {
			view->order[kept++] = view->order[i];
		}
	}
	view->live = kept;
	buf_deinit(&text);
	return err;
}

/* All sites that are to be shown, in their order. */
static struct err *choose(struct live_view *view)
{
	cleanup(suppressed_deinit) struct suppressed suppressed = {0};
	const struct live_ignore *ignore = view->options.ignore;
	const struct recording *recording = view->recording;
	const struct site *sites;
	struct err *err = NULL;
	uint32_t count;

	if (ignore && ignore->suppressions) {
		err = suppressed_create(ignore->suppressions, recording, view->symbolized,
					&suppressed);
		if (err)
			return err;
		recording = suppressed.recording;
		view->ignored_sites = suppressed.all.sites;
		view->ignored_bytes = suppressed.all.bytes;
	}
	sites = recording_sites(recording, &count);
	err = site_order_live(sites, count, view->options.key == LIVE_BY_COUNT, &view->order,
			      &view->live);
	if (!err && ignore && ignore->texts.count)
		err = leave_out(view, sites);
	return err;
}

struct err *live_view_create(const struct recording *recording, struct symbolized *symbolized,
			     const struct live_view_options *options, struct live_view *ret)
{
	cleanup(live_view_deinit) struct live_view view = {
		.options = *options,
		.recording = recording,
		.symbolized = symbolized,
	};
	struct err *err = choose(&view);

	if (err)
		return err;
	view.shown = options->top && options->top < view.live ? options->top : view.live;
	*ret = view;
	view = (struct live_view){0};
	return NULL;
}

struct err *live_view_collapsed(struct buf *buf, const struct live_view *view)
{
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	auto_free struct site *shown = calloc((size_t)view->shown + 1, sizeof(*shown));
	uint32_t count;
	const struct site *sites = recording_sites(view->recording, &count);
	struct err *err;

	if (!shown)
		return err_no_memory();
	for (uint32_t i = 0; i < view->shown; i++)
		shown[i] = sites[view->order[i]];
	err = tree_create_of_sites(view->recording, view->symbolized, shown, view->shown,
				   METRIC_LEAKED, &tree);
	return err ? err : collapsed_write(buf, tree);
}
