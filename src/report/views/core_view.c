#include "report/views/core_view.h"
#include "analysis/blocks/block_bits.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/views/site_order.h"
#include "report/words/format.h"

void core_view_deinit(struct core_view *view)
{
	free(view->order);
	free(view->sizes);
	free(view->first);
	*view = (struct core_view){0};
}

/*
 * *ret: for each site of the whole recording the shown site with the same stack, or RECORDING_NONE.
 */
static struct err *map_sites(const struct core_view_of *of, uint32_t **ret)
{
	uint32_t whole_count, count, nodes;
	const struct site *whole = recording_sites(of->whole, &whole_count);
	const struct site *sites = recording_sites(of->recording, &count);
	auto_free uint32_t *by_node = NULL, *shown = NULL;

	recording_stacks(of->whole, &nodes);
	by_node = malloc(((size_t)nodes + 1) * sizeof(*by_node));
	shown = malloc(((size_t)whole_count + 1) * sizeof(*shown));
	if (!by_node || !shown)
		return err_no_memory();
	memset(by_node, 0xff, ((size_t)nodes + 1) * sizeof(*by_node));
	// The last one is for the stack without frames.
	for (uint32_t i = 0; i < count; i++)
		by_node[sites[i].stack < nodes ? sites[i].stack : nodes] = i;
	for (uint32_t i = 0; i < whole_count; i++)
		shown[i] = by_node[whole[i].stack < nodes ? whole[i].stack : nodes];
	*ret = steal(&shown);
	return NULL;
}

static bool counts(const struct core_view_of *of, uint64_t block)
{
	return !of->match || block_bits_has(of->match->words, block);
}

/* Sorts the sizes of all blocks by site, and those of each site by address. */
static struct err *sort_sizes(const struct core_view_of *of, struct core_view *view,
			      uint32_t site_count)
{
	const struct block_columns *blocks = recording_blocks(of->whole);
	auto_free uint32_t *next = NULL, *shown = NULL;
	const uint32_t *by_address;
	struct err *err = recording_block_order(of->whole, BLOCK_ORDER_ADDRESS, &by_address);

	if (!err)
		err = map_sites(of, &shown);
	if (err)
		return err;
	assert(shown);
	view->sizes = malloc((blocks->count + 1) * sizeof(*view->sizes));
	view->first = calloc((size_t)site_count + 2, sizeof(*view->first));
	next = calloc((size_t)site_count + 1, sizeof(*next));
	if (!view->sizes || !view->first || !next)
		return err_no_memory();
	for (uint64_t i = 0; i < blocks->count; i++)
		if (counts(of, i) && shown[blocks->site[i]] < site_count)
			view->first[shown[blocks->site[i]] + 1]++;
	for (uint32_t i = 0; i < site_count; i++) {
		view->first[i + 1] += view->first[i];
		next[i] = view->first[i];
	}
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint32_t block = by_address[i], site = shown[blocks->site[block]];

		if (counts(of, block) && site < site_count)
			view->sizes[next[site]++] = blocks->size[block];
	}
	return NULL;
}

struct err *core_view_create(const struct core_view_of *of, const struct core_view_options *options,
			     struct core_view *ret)
{
	cleanup(core_view_deinit) struct core_view view = {
		.options = *options, .recording = of->recording, .symbolized = of->symbolized};
	uint32_t site_count;
	const struct site *sites = recording_sites(of->recording, &site_count);
	struct err *err =
		site_order_live(sites, site_count, options->by_count, &view.order, &view.live);

	if (!err)
		err = sort_sizes(of, &view, site_count);
	if (err)
		return err;
	view.shown = options->top && options->top < view.live ? options->top : view.live;
	*ret = view;
	view = (struct core_view){0};
	return NULL;
}

const char *core_facts_signal(const struct recording_facts *facts)
{
	static __thread char text[24];
	const char *name;

	if (!facts->core || !facts->core->signal)
		return NULL;
	name = sigabbrev_np((int)facts->core->signal);
	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), "signal %" PRIu32, facts->core->signal);
	return text;
}

void core_facts_json(struct json_writer *json, const struct recording_facts *facts)
{
	const struct coredump_facts *core = facts->core;

	if (!core) {
		json_null(json);
		return;
	}
	json_object(json);
	json_field_text(json, "signal", core_facts_signal(facts));
	json_field_bool(json, "raw", core->raw);
	json_field_u64(json, "pid", core->pid);
	json_field_u64(json, "owner", core->owner);
	json_field_u64(json, "missing_bytes", core->missing);
	json_field_u64(json, "cut_bytes", core->cut);
	json_end(json);
}

const char *core_facts_end(const struct recording_facts *facts)
{
	static __thread char text[40];
	const char *signal = core_facts_signal(facts);

	if (facts->core->raw)
		return "as its memory was dumped";
	if (!signal)
		return "still running when its core was dumped";
	snprintf(text, sizeof(text), "ended by %s", signal);
	return text;
}

void core_facts_put(struct buf *buf, const struct recording_facts *facts)
{
	const struct coredump_facts *core = facts->core;

	if (!core)
		return;
	if (core->pid && core->owner != core->pid)
		buf_printf(buf,
			   "  the dumped process, %" PRIu32
			   ", had no table of its own: this is the "
			   "one of process %" PRIu32 " in its memory\n",
			   core->pid, core->owner);
	if (core->missing)
		buf_printf(buf,
			   "  %s of its table are missing in the dump: there may be more blocks\n",
			   format_bytes(core->missing, false).text);
	if (core->cut)
		buf_printf(buf, "  the dump is cut short by %s\n",
			   format_bytes(core->cut, false).text);
}
