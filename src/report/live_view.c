#include "report/live_view.h"

#include "analysis/leaks/suppressed.h"
#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "report/export/collapsed.h"
#include "report/live_frame.h"
#include "report/site_order.h"

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

/*
 * Which frames the file of --ignore names. Thousands of backtraces share frames: each is looked up
 * by its number in the stack and its index, as both are in its text, and becomes text once.
 */
struct ignored_frames {
	struct map known; /* 1: it is named */
	struct buf text;
};

static void ignored_frames_deinit(struct ignored_frames *frames)
{
	map_deinit(&frames->known);
	buf_deinit(&frames->text);
}

static struct err *is_ignored_frame(const struct live_view *view, struct ignored_frames *frames,
				    uint32_t frame, unsigned number, bool *ret)
{
	static const struct style plain = {0};
	uint64_t *known = map_put(&frames->known, (uint64_t)number << 32 | frame);
	struct err *err = known ? NULL : err_no_memory();
	const char *text;

	if (!err && *known == MAP_NONE) {
		*known = 0;
		frames->text.size = 0;
		err = live_frame_put(&frames->text, &plain, view->recording, view->symbolized,
				     frame, number);
		text = err ? NULL : buf_string(&frames->text);
		if (text)
			*known = live_ignore_has_text(view->options.ignore, text);
		else if (!err)
			err = err_no_memory();
	}
	*ret = !err && *known;
	return err;
}

/* Whether one of the frames that are printed is ignored. */
static struct err *is_ignored_stack(const struct live_view *view, struct ignored_frames *frames,
				    uint32_t node, bool *ret)
{
	uint32_t unused;
	const struct stack_node *nodes = recording_stacks(view->recording, &unused);
	struct err *err = NULL;

	*ret = node == RECORDING_NONE &&
	       live_ignore_has_text(view->options.ignore, LIVE_FRAME_NO_STACK);
	for (unsigned i = 0; !err && !*ret && node != RECORDING_NONE && i < view->options.depth;
	     i++) {
		err = is_ignored_frame(view, frames, nodes[node].frame, i, ret);
		node = nodes[node].parent;
	}
	return err;
}

/* The sites of order that are ignored go. */
static struct err *leave_out(struct live_view *view, const struct site *sites)
{
	cleanup(ignored_frames_deinit) struct ignored_frames frames = {.text = BUF_EMPTY};
	struct err *err = NULL;
	uint32_t kept = 0;

	for (uint32_t i = 0; !err && i < view->live; i++) {
		const struct site *site = &sites[view->order[i]];
		bool ignored;

		err = is_ignored_stack(view, &frames, site->stack, &ignored);
		if (ignored) {
			view->ignored_sites++;
			view->ignored_bytes += site->leaked_bytes;
		} else {
			view->order[kept++] = view->order[i];
		}
	}
	view->live = kept;
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
				   METRIC_LEAKED, TREE_WHOLE, &tree);
	return err ? err : collapsed_write(buf, tree);
}
