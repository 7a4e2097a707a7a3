#include <stdlib.h>

#include "analysis/load/load.h"
#include "hosted/cleanup.h"

uint64_t load_look_tolerance_ns = 10000;

/* Gives the look its own frames. *same: they have the numbers that they have in stacks. */
static struct err *name_frames(const struct recording *recording, struct recording *look,
			       bool *same)
{
	struct err *err;

	if (!vec_append(&look->tables->frames.references, &recording->tables->frames.references))
		return err_no_memory();
	err = frame_table_name(&look->tables->frames, &recording->tables->modules, same);
	frame_table_finish(&look->tables->frames);
	return err;
}

/*
 * Gives the look its own lists, sums, and what views keep. Strings, stacks and blocks stay where
 * they are: nothing is taken while there is a look.
 */
static struct err *copy_lists(const struct recording *recording, struct recording *look)
{
	struct err *err;

	if (!vec_append(&look->tables->modules.modules, &recording->tables->modules.modules) ||
	    !vec_append(&look->sites.sites, &recording->sites.sites) ||
	    !vec_append(&look->sites.states, &recording->sites.states) ||
	    !vec_append(&look->tables->threads, &recording->tables->threads) ||
	    !vec_append(&look->tables->memory, &recording->tables->memory) ||
	    !vec_append(&look->tables->marks, &recording->tables->marks) ||
	    !vec_append(&look->tables->switches, &recording->tables->switches) ||
	    !vec_append(&look->tables->mappings, &recording->tables->mappings) ||
	    !vec_append(&look->tables->mallopts, &recording->tables->mallopts) ||
	    !vec_append(&look->tables->unseen, &recording->tables->unseen) ||
	    !vec_append(&look->tables->patched, &recording->tables->patched))
		return err_no_memory();
	look->sites.epoch = recording->sites.epoch;
	look->sites.peak = recording->sites.peak;
	look->sites.peak_ticks = recording->sites.peak_ticks;
	look->sites.peak_block = recording->sites.peak_block;
	look->sites.summary = recording->sites.summary;
	err = facts_cache_create(&look->facts_cache);
	if (!err)
		err = sight_create(look, false);
	return err || !look->blocks->store.wanted ? err : block_cache_create(&look->blocks->cache);
}

static struct err *make(const struct recording *recording, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *look = NULL;
	const struct block_store *from = &recording->blocks->store;
	struct err *err = recording_create(&look);

	if (err)
		return err;
	look->facts = recording->facts;
	look->tables->stacks = recording->tables->stacks;
	look->tables->fingerprint = recording->tables->fingerprint;
	look->tables->modified = recording->tables->modified;
	look->blocks->store.wanted = from->wanted;
	look->blocks->store.unknown_frees = from->unknown_frees;
	look->blocks->store.implicit_frees = from->implicit_frees;
	err = copy_lists(recording, look);
	if (!err)
		*ret = steal(&look);
	return err;
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
	if (look->blocks->store.wanted)
		err = block_times_renew(times, &load->recording->blocks->store, &view.clock,
					&look->blocks->store.columns);
	times->clock = view.clock;
	if (!err)
		err = load_finish_lists(&view);
	if (!err) {
		struct load taken = view;

		taken.recording = load->recording;
		err = load_make_facts(&taken, look);
	}
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
	if (recording->blocks->watched || recording->blocks->heap_errors.wanted ||
	    recording->pools->places.count)
		return NULL;
	err = stack_trie_show(&recording->tables->trie);
	recording_show_stacks(recording->tables);
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
