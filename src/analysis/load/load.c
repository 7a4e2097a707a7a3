#include "analysis/load/load.h"

#include <stdlib.h>

#include "analysis/index/index_read.h"
#include "analysis/live/live_load.h"
#include "hosted/cleanup.h"

/* How late a free's time may be: docs/trace-format.md, section 8. */
#define WINDOW_NS 10000

/* Makes a stream, and its first thread, for each run of chunks with the same stream number. */
static struct err *make_streams(struct load *load)
{
	const struct indexed_chunk *chunks = load->index.chunks.items;
	size_t total = load->index.chunks.count, count = 0;

	for (size_t i = 0; i < total; i++)
		count += !i || chunks[i].header.stream != chunks[i - 1].header.stream;
	if (count >= RECORDING_NONE)
		return err_no_memory();
	load->streams = calloc(count + 1, sizeof(*load->streams));
	load->heap = calloc(count + 1, sizeof(*load->heap));
	if (!load->streams || !load->heap)
		return err_no_memory();
	for (size_t first = 0, end; first < total; first = end) {
		struct load_stream *stream = &load->streams[load->stream_count];
		struct recorded_thread thread = {
			.stream = chunks[first].header.stream,
			.name = "",
			.first_ns = UINT64_MAX,
		};

		for (end = first + 1; end < total; end++)
			if (chunks[end].header.stream != thread.stream)
				break;
		if (!vec_push(&load->recording->threads, thread))
			return err_no_memory();
		stream->thread = load->stream_count++;
		stream->replaced = BLOCK_NONE;
		stream_cursor_init(&stream->cursor, load->source, &load->damage, &load->index,
				   first, end);
	}
	return block_store_threads(&load->recording->blocks, load->stream_count);
}

static void end_streams(struct load *load)
{
	for (uint32_t i = 0; load->streams && i <= load->stream_count; i++) {
		stream_cursor_deinit(&load->streams[i].cursor);
		free(load->streams[i].nodes);
		free(load->streams[i].events);
	}
	load_culled_deinit(&load->culled);
	free(load->streams);
	free(load->heap);
	load->streams = NULL;
	load->heap = NULL;
	load->stream_count = 0;
}

static void load_deinit(struct load *load)
{
	end_streams(load);
	chunk_index_deinit(&load->index);
	live_snapshot_deinit(&load->live);
}

static struct err *read_streams(struct load *load)
{
	struct err *err;

	load->recording->blocks.sample_mean = load->recording->facts.sample_mean;
	load->recording->blocks.temporary_known =
		!load->recording->facts.sample_mean && !load->recording->facts.cull_ns;
	load->recording->pools.births_wanted = load->recording->blocks.wanted;
	load->recording->blocks.window = tick_clock_span(&load->clock, WINDOW_NS);
	err = make_streams(load);
	if (!err)
		err = load_culled_read(load);
	if (!err)
		err = load_merge(load);
	if (!err)
		err = load_culled_add(load);
	if (!err && load->recording->facts.live)
		err = live_load_tables(load);
	return err;
}

/* Forgets the first reading, but not modules and frames: they are why there is a second one. */
static void forget(struct load *load)
{
	struct recording *recording = load->recording;
	struct recording_facts *facts = &recording->facts;
	bool wanted = recording->blocks.wanted, free_stacks = recording->blocks.free_stacks;

	end_streams(load);
	stack_trie_deinit(&recording->stacks);
	site_table_deinit(&recording->sites);
	block_store_deinit(&recording->blocks);
	pool_table_deinit(&recording->pools);
	recording->stacks = (struct stack_trie){0};
	recording->sites = (struct site_table){0};
	recording->blocks = (struct block_store){.wanted = wanted, .free_stacks = free_stacks};
	recording->pools = (struct pool_table){0};
	recording->threads.count = recording->memory.count = recording->marks.count = 0;
	recording->mappings.count = recording->mallopts.count = recording->switches.count = 0;
	facts->events = facts->allocations = facts->frees = facts->reallocs = 0;
	facts->failed_allocations = 0;
	facts->culled_allocations = facts->culled_bytes = 0;
	recording->live_line.steps.count = 0;
	recording->live_line.operations = 0;
	recording->heap_errors.suspects.count = recording->heap_errors.turns.count = 0;
	load->now = load->last_ticks = load->done = 0;
}

static struct err *read_all(struct load *load)
{
	struct recording *recording = load->recording;
	struct damage damage = load->damage;
	struct err *err;
	bool same;

	err = read_streams(load);
	if (err)
		return err;
	err = frame_table_name(&recording->frames, &recording->modules, &same);
	if (err || same)
		return err;
	forget(load);
	load->damage = damage;
	return read_streams(load);
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

/* The same if the index has the run facts: then no blocks are needed, and none are promised. */
static struct err *load_facts_from_index(struct load *load, bool checked, bool *ret)
{
	struct recording *recording = load->recording;
	struct recording_facts facts = recording->facts;
	struct err *err = load_from_index(load, checked, ret);

	if (err || !*ret)
		return err;
	*ret = recording->packed_facts != NULL;
	if (!*ret) {
		index_forget(recording, &facts);
		return NULL;
	}
	recording->blocks.wanted = recording->heap_errors.wanted = false;
	block_cache_destroy(steal(&recording->views));
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

/* Loads without reading events if that gives all that is needed. *ret false: it does not. */
static struct err *load_without_events(struct load *load, unsigned int needs, bool *ret)
{
	const struct recording *recording = load->recording;
	bool checked = needs & RECORDING_CHECKED;

	*ret = false;
	if (needs & RECORDING_FROM_EVENTS || recording->live_line.wanted ||
	    recording->live_line.moment || recording->facts.live)
		return NULL;
	if (needs & RECORDING_RUN_FACTS && recording->blocks_for_facts) {
		struct err *err = load_facts_from_index(load, checked, ret);

		if (err || *ret)
			return err;
	}
	return recording->blocks.wanted ? load_from_index_file(load, checked, ret)
					: load_from_index(load, checked, ret);
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
	struct err *err = NULL;
	bool indexed;

	recording->live_line.wanted = needs & RECORDING_LIVE_LINE;
	recording->heap_errors.wanted = needs & (RECORDING_HEAP_ERRORS | RECORDING_RUN_FACTS);
	recording->blocks.wanted = needs & RECORDING_BLOCKS || recording->heap_errors.wanted;
	recording->blocks_for_facts = !(needs & (RECORDING_BLOCKS | RECORDING_HEAP_ERRORS));
	recording->watched = recording->live_line.wanted || recording->live_line.moment ||
			     recording->heap_errors.wanted;
	recording->modified = byte_source_modified(source);
	err = facts_cache_create(&recording->facts_cache);
	if (!err && recording->blocks.wanted)
		err = block_cache_create(&recording->views);
	if (!err)
		err = load_header(&load);
	if (err)
		return err;
	err = chunk_index_build(source, &load.damage, &load.index);
	if (!err && load.header.flags & TRACE_LIVE)
		err = live_load_begin(&load, recording->blocks.wanted);
	if (!err)
		err = extra_chunk_fetch(&load.index.symbols, source, &recording->symbols,
					&recording->symbols_size);
	if (!err)
		err = extra_chunk_fetch(&load.index.curve, source, &recording->curve,
					&recording->curve_size);
	if (err)
		return err;
	recording->fingerprint = load.index.fingerprint;
	recording->facts.file_size = load.index.file_size;
	err = load_without_events(&load, needs, &indexed);
	if (err || indexed)
		return err;
	load.clock = tick_clock_make(&load.header, load.index.latest_ticks,
				     load.index.latest_monotonic_ns);
	err = read_all(&load);
	if (err)
		return err;
	return load_finish(&load);
}
