#include <stdlib.h>
#include <string.h>

#include "analysis/load/load.h"
#include "hosted/cleanup.h"

/* The chunks of one stream in the index: first to end - 1. */
struct run {
	uint64_t number;
	size_t first, end;
};

/* Goes on to the next run; it begins zeroed. False: there is none. */
static bool next_run(const struct chunk_index *index, struct run *run)
{
	const struct indexed_chunk *chunks = index->chunks.items;

	if (run->end == index->chunks.count)
		return false;
	run->first = run->end++;
	run->number = chunks[run->first].header.stream;
	while (run->end < index->chunks.count && chunks[run->end].header.stream == run->number)
		run->end++;
	return true;
}

/* Makes room for so many streams, and the one of the survivors. */
static struct err *reserve(struct load *load, size_t count)
{
	struct load_stream *streams;
	uint32_t *heap;

	if (count >= RECORDING_NONE)
		return err_no_memory();
	streams = reallocarray(load->streams, count + 1, sizeof(*streams));
	if (!streams)
		return err_no_memory();
	load->streams = streams;
	heap = reallocarray(load->heap, count + 1, sizeof(*heap));
	if (!heap)
		return err_no_memory();
	load->heap = heap;
	return NULL;
}

/* Puts an empty stream, for the survivors, behind the others. */
static void end_list(struct load *load)
{
	load->streams[load->stream_count] = (struct load_stream){.number = UINT64_MAX};
}

/* There is room for it. */
static struct err *add_stream(struct load *load, const struct run *run)
{
	struct load_stream *stream = &load->streams[load->stream_count];
	struct err *err;

	*stream = (struct load_stream){.number = run->number};
	err = load_thread_add(load, run->number, &stream->thread);
	if (err)
		return err;
	stream_cursor_init(&stream->cursor, load->source, &load->damage, &load->index, run->first,
			   run->end);
	load->stream_count++;
	return NULL;
}

static struct err *add_streams(struct load *load, size_t count)
{
	struct run run = {0};
	struct err *err = reserve(load, count);

	while (!err && next_run(&load->index, &run))
		err = add_stream(load, &run);
	return err;
}

struct err *load_streams_make(struct load *load)
{
	struct run run = {0};
	size_t count = 0;
	struct err *err;

	while (next_run(&load->index, &run))
		count++;
	err = add_streams(load, count);
	if (load->streams)
		end_list(load);
	return err;
}

/*
 * Gives each stream its chunks of the renewed index; new streams come behind the old ones. The list
 * has room for all. *ret false: a stream is not as it was.
 */
static struct err *go_on(struct load *load, const struct map *by_number, bool *ret)
{
	uint32_t before = load->stream_count, found = 0;
	struct run run = {0};
	struct err *err = NULL;

	*ret = true;
	while (!err && *ret && next_run(&load->index, &run)) {
		uint64_t known = map_get(by_number, run.number);

		if (known == MAP_NONE) {
			err = add_stream(load, &run);
			continue;
		}
		found++;
		err = stream_cursor_renew(&load->streams[known].cursor, &load->index, run.first,
					  run.end, ret);
	}
	*ret = *ret && found == before;
	return err;
}

/* As load_streams_grow(), with an index that is right. */
static struct err *adopt(struct load *load, bool *ret)
{
	cleanup(map_deinit) struct map by_number = {0};
	struct run run = {0};
	size_t count = load->stream_count;
	struct err *err;

	for (uint32_t i = 0; i < load->stream_count; i++) {
		uint64_t *place = map_put(&by_number, load->streams[i].number);

		if (!place)
			return err_no_memory();
		*place = i;
	}
	while (next_run(&load->index, &run))
		count += map_get(&by_number, run.number) == MAP_NONE;
	err = reserve(load, count);
	if (!err)
		err = go_on(load, &by_number, ret);
	end_list(load);
	return err;
}

struct err *load_streams_grow(struct load *load, bool *ret)
{
	struct chunk_index before = load->index;
	struct damage damage = {0};
	struct err *err;

	*ret = false;
	load->index = (struct chunk_index){0};
	err = chunk_index_build(load->source, &damage, &load->index);
	if (err) {
		load->index = before;
		return err;
	}
	if (!damage.chunks && !load->index.missing && !load->index.packs.count &&
	    load->index.file_size >= before.file_size)
		err = adopt(load, ret);
	// Only now: the streams read slots' copies in it.
	chunk_index_deinit(&before);
	return err;
}

void load_streams_end(struct load *load)
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
	load->stream_count = load->heap_count = 0;
	load->thread_numbers.count = load->thread_order.count = 0;
}
