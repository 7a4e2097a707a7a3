#include "analysis/load/load.h"

#include <stdlib.h>

#include "analysis/facts/facts_pack.h"
#include "analysis/index/index_read.h"
#include "analysis/live/live_load.h"
#include "hosted/cleanup.h"

/* How late a free's time may be: docs/trace-format.md, section 8. */
#define WINDOW_NS 10000

void load_deinit(struct load *load)
{
	load_streams_end(load);
	vec_deinit(&load->thread_numbers);
	vec_deinit(&load->thread_order);
	if (!load->walk)
		chunk_index_deinit(&load->index);
	live_snapshot_deinit(&load->live);
	vec_deinit(&load->sums);
}

bool load_set_clock(struct load *load)
{
	load->clock = tick_clock_make(&load->header, load->index.latest_ticks,
				      load->index.latest_monotonic_ns);
	return block_store_set_window(&load->recording->blocks->store,
				      tick_clock_span(&load->clock, WINDOW_NS));
}

/* Run facts are collected from now on, if they are wanted. */
static struct err *want_facts(struct load *load)
{
	struct block_store *store = &load->recording->blocks->store;

	if (!load->facts_wanted || load->header.flags & TRACE_LIVE)
		return NULL;
	return facts_walk_create(load->header.start_ticks, load->curve_wanted, &store->facts);
}

struct err *load_open_streams(struct load *load)
{
	struct err *err = want_facts(load);

	if (err)
		return err;
	load_set_clock(load);
	load->recording->blocks->store.sample_mean = load->recording->facts.sample_mean;
	load->recording->blocks->store.temporary_known =
		!load->recording->facts.sample_mean && !load->recording->facts.cull_ns;
	load->recording->pools->births_wanted = load->recording->blocks->store.wanted;
	err = load_streams_make(load);
	return err ? err : load_culled_read(load);
}

static struct err *read_streams(struct load *load)
{
	struct err *err = load_open_streams(load);

	if (!err && load->walk)
		err = load_walk_begin(load);
	if (!err)
		err = load_merge(load, load->walk ? load->walk->until : UINT64_MAX);
	if (!err)
		err = load_culled_add(load);
	if (!err && load->header.flags & TRACE_AGGREGATE)
		err = load_aggregate_add(load);
	if (!err && load->recording->facts.live)
		err = live_load_tables(load);
	return err;
}

/* Forgets the first reading, but not modules and frames: they may be why there is a second one. */
static void forget(struct load *load)
{
	struct recording *recording = load->recording;
	struct recording_facts *facts = &recording->facts;
	bool wanted = recording->blocks->store.wanted;

	load_streams_end(load);
	recording_forget_lists(recording);
	block_store_deinit(&recording->blocks->store);
	recording->blocks->store = (struct block_store){
		.wanted = wanted,
		.free_stacks = wanted && facts->free_stacks,
	};
	if (!recording->tables->unseen_stored)
		recording->tables->unseen.count = recording->tables->patched.count = 0;
	facts->events = facts->allocations = facts->frees = facts->reallocs = 0;
	facts->failed_allocations = 0;
	facts->culled_allocations = facts->culled_bytes = 0;
	recording->blocks->live_line.steps.count = 0;
	recording->blocks->live_line.operations = 0;
	recording->blocks->heap_errors.suspects.count = recording->blocks->heap_errors.turns.count =
		0;
	load->sums.count = 0;
	load->now = load->last_ticks = load->done = load->taken_before = 0;
	load->damage = load->index_damage;
}

/* Sets the facts after an index was used. */
static void note_indexed(struct load *load)
{
	struct recording_facts *facts = &load->recording->facts;

	load_chunk_facts(load);
	facts->complete = facts->complete && !facts->missing_chunks;
	facts->indexed = true;
}

/* Loads from the index in the file. *ret false: there is none, or it cannot be used. */
static struct err *load_from_index(struct load *load, bool checked, bool *ret)
{
	auto_free uint8_t *data = NULL;
	bool sound = true;
	struct err *err;
	size_t size;

	*ret = false;
	// With damage the events are read: only that tells what was lost.
	if (load->damage.chunks)
		return NULL;
	if (checked && load->index.index.size) {
		err = chunk_index_check(&load->index, load->source, &sound);
		if (err || !sound)
			return err;
	}
	err = extra_chunk_fetch(&load->index.index, load->source, &data, &size);
	if (err || !data)
		return err;
	err = index_read(load->recording, data, size, ret);
	if (err || !*ret)
		return err;
	note_indexed(load);
	return NULL;
}

/* Whether the index says all that is needed: the run facts, or that no free was wrong. */
static struct err *facts_suffice(const struct recording *recording, unsigned int needs, bool *ret)
{
	const struct run_facts *facts;
	struct err *err = recording_run_facts(recording, &facts);

	*ret = facts &&
	       (!(needs & RECORDING_HEAP_ERRORS) ||
		(facts->errors.known && !facts->errors.frees && !recording->facts.unknown_frees));
	return err;
}

/* The same if its facts suffice: then no blocks are needed, and none are promised. */
static struct err *load_facts_from_index(struct load *load, unsigned int needs, bool *ret)
{
	struct recording *recording = load->recording;
	struct recording_facts facts = recording->facts;
	struct err *err = load_from_index(load, needs & RECORDING_CHECKED, ret);

	if (err || !*ret)
		return err;
	err = facts_suffice(recording, needs, ret);
	if (err)
		return err;
	if (!*ret) {
		facts_cache_forget(recording->facts_cache);
		index_forget(recording, &facts);
		return NULL;
	}
	recording->blocks->heap_errors.wanted = false;
	return NULL;
}

/*
 * The same with an index file, which has the blocks, too. Not while the file is written: slots
 * change without notice.
 */
static struct err *load_from_index_file(struct load *load, bool checked, bool *ret)
{
	bool sound = true;
	struct err *err = NULL;

	*ret = false;
	if (load->damage.chunks || load->recording->facts.writing)
		return NULL;
	if (checked)
		err = chunk_index_check(&load->index, load->source, &sound);
	if (err || !sound)
		return err;
	err = index_file_read(load->recording, ret);
	if (!err && *ret)
		note_indexed(load);
	return err;
}

/* Forgets the blocks that the index file had. */
static void drop_index_blocks(struct recording *recording)
{
	index_mapping_deinit(&recording->blocks->index_mapping);
	recording->blocks->store.columns = (struct block_columns){0};
	recording->pools->births = NULL;
	recording->pools->birth_count = 0;
}

/*
 * The same, with run facts if they are needed: a file without them is made anew. For these, or heap
 * errors, alone, its blocks are not kept.
 */
static struct err *load_all_from_index_file(struct load *load, unsigned int needs, bool *ret)
{
	struct recording *recording = load->recording;
	struct recording_blocks *blocks = recording->blocks;
	struct recording_facts facts = recording->facts;
	bool wanted = blocks->store.wanted;
	struct err *err = wanted ? NULL : block_cache_create(&blocks->cache);

	if (!err)
		err = load_from_index_file(load, needs & RECORDING_CHECKED, ret);
	if (!err && *ret && needs & RECORDING_RUN_FACTS) {
		err = facts_suffice(recording, RECORDING_RUN_FACTS, ret);
		recording->tables->index_stale |= !err && !*ret;
	}
	if (wanted && *ret)
		return err;
	// What is made of blocks, too, may be in the file.
	drop_index_blocks(recording);
	block_cache_destroy(steal(&blocks->cache));
	if (err || *ret)
		return err;
	if (wanted)
		err = block_cache_create(&blocks->cache);
	facts_cache_forget(recording->facts_cache);
	blocks->heap_errors.errors.count = 0;
	index_forget(recording, &facts);
	return err;
}

/* Loads without reading events if that gives all that is needed. *ret false: it does not. */
static struct err *load_without_events(struct load *load, unsigned int needs, bool *ret)
{
	const struct recording *recording = load->recording;
	bool checked = needs & RECORDING_CHECKED;

	*ret = false;
	if (needs & RECORDING_FROM_EVENTS || recording->blocks->live_line.wanted ||
	    recording->blocks->live_line.moment || recording->facts.live ||
	    load->header.flags & TRACE_AGGREGATE)
		return NULL;
	if (!(needs & RECORDING_BLOCKS) && needs & (RECORDING_RUN_FACTS | RECORDING_HEAP_ERRORS)) {
		struct err *err = load_facts_from_index(load, needs, ret);

		return err || *ret ? err : load_all_from_index_file(load, needs, ret);
	}
	return recording->blocks->store.wanted ? load_all_from_index_file(load, needs, ret)
					       : load_from_index(load, checked, ret);
}

void load_note_file(struct load *load)
{
	struct recording *recording = load->recording;

	recording->tables->modified = load->modified;
	recording->tables->fingerprint = load->index.fingerprint;
	recording->facts.file_size = load->index.file_size;
}

/* Reads what a finished recording says that it cannot show. */
static struct err *load_unseen(struct load *load)
{
	auto_free uint8_t *data = NULL;
	size_t size;
	struct err *err = extra_chunk_fetch(&load->index.unseen, load->source, &data, &size);

	return err || !data ? err : sight_read(load->recording, data, size);
}

struct err *load_begin(struct load *load, unsigned int needs)
{
	struct recording *recording = load->recording;
	const struct byte_source *source = load->source;
	struct err *err;

	recording->blocks->live_line.wanted = needs & RECORDING_LIVE_LINE;
	recording->blocks->heap_errors.wanted =
		needs & RECORDING_HEAP_ERRORS ||
		(needs & (RECORDING_RUN_FACTS | RECORDING_BLOCKS)) == RECORDING_RUN_FACTS;
	recording->blocks->store.wanted = needs & RECORDING_BLOCKS;
	load->facts_wanted = needs & RECORDING_RUN_FACTS;
	load->curve_wanted = needs & RECORDING_CURVE;
	recording->blocks->watched =
		recording->blocks->live_line.wanted || recording->blocks->live_line.moment;
	err = facts_cache_create(&recording->facts_cache);
	if (!err)
		err = sight_create(recording, false);
	if (!err && recording->blocks->store.wanted)
		err = block_cache_create(&recording->blocks->cache);
	if (!err)
		err = load_header(load);
	if (err)
		return err;
	if (load->walk)
		load->index = *load->walk->index;
	else
		err = chunk_index_build(source, &load->damage, &load->index);
	if (!err && load->header.flags & TRACE_LIVE)
		err = live_load_begin(load, recording->blocks->store.wanted);
	if (!err)
		err = extra_chunk_fetch(&load->index.symbols, source, &recording->tables->symbols,
					&recording->tables->symbols_size);
	if (!err)
		err = extra_chunk_fetch(&load->index.curve, source, &recording->tables->curve,
					&recording->tables->curve_size);
	if (!err)
		err = load_unseen(load);
	if (err)
		return err;
	load->index_damage = load->damage;
	load_note_file(load);
	return NULL;
}

/*
 * Makes the blocks for the time that suspects are judged, unless they are there: most programs have
 * no suspects.
 */
static struct err *judge(struct load *load)
{
	struct recording_blocks *blocks = load->recording->blocks;
	bool wanted = blocks->store.wanted;
	struct err *err = NULL;

	load_chunk_facts(load);
	if (!wanted && heap_errors_need_blocks(load->recording)) {
		blocks->store.wanted = true;
		forget(load);
		err = read_streams(load);
	}
	if (!err)
		err = load_finish(load);
	if (!wanted)
		block_store_drop_rows(&blocks->store);
	return err;
}

struct err *load_end(struct load *load)
{
	bool same;
	struct err *err = frame_table_name(&load->recording->tables->frames,
					   &load->recording->tables->modules, &same);

	if (!err && !same) {
		forget(load);
		err = read_streams(load);
	}
	if (!err && load->walk)
		err = load_walk_end(load);
	return err ? err : judge(load);
}

struct err *load_events(struct load *load)
{
	struct err *err = read_streams(load);

	return err ? err : load_end(load);
}

/*
 * Who has an index file keeps one: if it is made anew, all that is in it is needed.
 */
static struct err *want_all(struct load *load)
{
	struct recording_blocks *blocks = load->recording->blocks;

	blocks->store.wanted = blocks->heap_errors.wanted = load->facts_wanted = true;
	blocks->store.free_stacks = load->recording->facts.free_stacks;
	return blocks->cache ? NULL : block_cache_create(&blocks->cache);
}

struct err *load_recording(struct recording *recording, const struct byte_source *source,
			   unsigned int needs, recording_progress *progress, void *argument)
{
	cleanup(load_deinit) struct load load = {
		.recording = recording,
		.source = source,
		.progress = progress,
		.argument = argument,
	};
	struct err *err;
	bool indexed;

	err = load_begin(&load, needs);
	if (!err)
		err = load_without_events(&load, needs, &indexed);
	if (err || indexed)
		return err;
	if (recording->tables->index_stale)
		err = want_all(&load);
	return err ? err : load_events(&load);
}
