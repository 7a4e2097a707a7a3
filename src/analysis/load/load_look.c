#include <stdlib.h>

#include "analysis/load/load.h"
#include "hosted/cleanup.h"

CLEANUP_DEFINE(struct recording *, recording_close);

uint64_t load_look_tolerance_ns = 10000;

/* Gives the look its own frames. *same: they have the numbers that they have in stacks. */
static struct err *name_frames(const struct recording *recording, struct recording *look,
			       bool *same)
{
	struct err *err;

	if (!vec_append(&look->frames.references, &recording->frames.references))
		return err_no_memory();
	err = frame_table_name(&look->frames, &recording->modules, same);
	frame_table_finish(&look->frames);
	return err;
}

/* Gives the look its own lists, sums, and what views keep. */
static struct err *copy_lists(const struct recording *recording, struct recording *look)
{
	struct err *err;

	if (!vec_append(&look->modules.modules, &recording->modules.modules) ||
	    !vec_append(&look->sites.sites, &recording->sites.sites) ||
	    !vec_append(&look->sites.saved, &recording->sites.saved) ||
	    !vec_append(&look->threads, &recording->threads) ||
	    !vec_append(&look->memory, &recording->memory) ||
	    !vec_append(&look->marks, &recording->marks) ||
	    !vec_append(&look->switches, &recording->switches) ||
	    !vec_append(&look->mappings, &recording->mappings) ||
	    !vec_append(&look->mallopts, &recording->mallopts) ||
	    !vec_append(&look->unseen, &recording->unseen))
		return err_no_memory();
	look->sites.peak = recording->sites.peak;
	look->sites.peak_ticks = recording->sites.peak_ticks;
	look->sites.peak_block = recording->sites.peak_block;
	look->sites.summary = recording->sites.summary;
	err = facts_cache_create(&look->facts_cache);
	if (!err)
		err = sight_create(look, &look->facts.sight);
	return err || !look->blocks.wanted ? err : block_cache_create(&look->views);
}

static struct err *make(const struct recording *recording, struct recording **ret)
{
	struct recording *look = calloc(1, sizeof(*look));

	if (!look)
		return err_no_memory();
	look->growing = true;
	look->facts = recording->facts;
	look->facts.sight = NULL;
	look->stacks.nodes.items = recording->stacks.nodes.items;
	look->stacks.nodes.count = recording->stacks.nodes.count;
	look->blocks = recording->blocks;
	look->fingerprint = recording->fingerprint;
	look->modified = recording->modified;
	*ret = look;
	return copy_lists(recording, look);
}

/* The clock of the last look, if it is as good as the present one. */
static struct tick_clock look_clock(const struct load *load, const struct tick_clock *last)
{
	uint64_t fresh, kept;

	if (!last->ticks)
		return load->clock;
	fresh = tick_clock_ns(&load->clock, load->last_ticks);
	kept = tick_clock_ns(last, load->last_ticks);
	return (fresh > kept ? fresh - kept : kept - fresh) > load_look_tolerance_ns ? load->clock
										     : *last;
}

static void numbers_deinit(struct load *view)
{
	vec_deinit(&view->thread_numbers);
	vec_deinit(&view->thread_order);
}

/* The last steps of loading, for the look instead of the recording. */
static struct err *finish(const struct load *load, struct block_times *times,
			  struct recording *look)
{
	cleanup(numbers_deinit) struct load view = *load;
	struct err *err = NULL;

	view.recording = look;
	view.thread_numbers.items = view.thread_order.items = NULL;
	view.thread_numbers.count = view.thread_numbers.capacity = 0;
	view.thread_order.count = view.thread_order.capacity = 0;
	if (!vec_append(&view.thread_numbers, &load->thread_numbers) ||
	    !vec_reserve(&view.thread_order, load->thread_numbers.count) ||
	    !vec_append(&view.thread_order, &load->thread_order))
		return err_no_memory();
	load_last_clock(&view);
	view.clock = look_clock(&view, &times->clock);
	if (look->blocks.wanted)
		err = block_times_renew(times, &load->recording->blocks, &view.clock,
					&look->blocks.columns);
	times->clock = view.clock;
	if (!err)
		err = load_finish_lists(&view);
	if (!err)
		load_finish_sums(&view);
	return err;
}

struct err *load_look(struct load *load, struct block_times *times, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *look = NULL;
	struct recording *recording = load->recording;
	bool same = true;
	struct err *err;

	*ret = NULL;
	if (recording->watched || recording->pools.places.count)
		return NULL;
	err = stack_trie_show(&recording->stacks);
	if (!err)
		err = make(recording, &look);
	if (!err)
		err = name_frames(recording, look, &same);
	if (err || !same)
		return err;
	err = finish(load, times, look);
	if (!err)
		*ret = steal(&look);
	return err;
}
