#include "analysis/live/live_snapshot.h"

#include <assert.h>
#include <string.h>

#include "hosted/cleanup.h"

#define STACKLESS 1 /* the site of blocks whose stack is not known */

void live_snapshot_deinit(struct live_snapshot *snapshot)
{
	free(snapshot->sites);
	free(snapshot->nodes);
	free(snapshot->threads);
	free(snapshot->freed);
	live_blocks_deinit(&snapshot->blocks);
	*snapshot = (struct live_snapshot){0};
}

struct err *live_chunk_read(const struct byte_source *source, struct chunk_extent extent,
			    struct live_chunk *ret)
{
	size_t got;

	// What is cut off is zero, and belongs to no part.
	memset(ret, 0, sizeof(*ret));
	return byte_source_read(source, extent.offset + LIVE_CHUNK_OFFSET, ret, sizeof(*ret), &got);
}

/* The entries of a part that one chunk has. */
struct part_piece {
	uint32_t entry_size;
	uint64_t array; /* where in the file they begin */
	uint64_t first; /* number of the first one */
	uint64_t count; /* how many the file has */
};

/* Finds the entries of a chunk. */
static struct err *find_piece(const struct byte_source *source, const struct chunk_index *index,
			      struct chunk_extent extent, const struct live_chunk *head,
			      struct part_piece *ret)
{
	uint64_t end = extent.offset + extent.size, start = 0;
	size_t got;
	struct err *err =
		byte_source_read(source, extent.offset + LIVE_CHUNK_OFFSET + sizeof(*head), &start,
				 sizeof(start), &got);

	if (err)
		return err;
	// Up to version 1.5 it is not said.
	if (!start)
		start = LIVE_ARRAY_OFFSET;
	if (start > extent.size)
		start = extent.size;
	if (end > index->file_size)
		end = index->file_size;
	*ret = (struct part_piece){
		.entry_size = head->entry_size,
		.array = extent.offset + start,
		.first = head->first,
	};
	if (end > ret->array)
		ret->count = (end - ret->array) / head->entry_size;
	if (ret->count > head->count)
		ret->count = head->count;
	return NULL;
}

typedef struct err *take_entries(const struct byte_source *source, const struct part_piece *piece,
				 void *argument);

/* Calls take for each chunk of a part. */
static struct err *each_chunk(const struct byte_source *source, const struct chunk_index *index,
			      enum live_part part, size_t entry_size, take_entries *take,
			      void *argument)
{
	struct part_piece piece;
	struct live_chunk head;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < index->live.count; i++) {
		struct chunk_extent extent = index->live.items[i];

		err = live_chunk_read(source, extent, &head);
		if (err || head.part != part || head.entry_size != entry_size)
			continue;
		err = find_piece(source, index, extent, &head, &piece);
		if (!err)
			err = take(source, &piece, argument);
	}
	return err;
}

/* An array that is put together from chunks. */
struct array {
	uint8_t *entries;
	uint64_t count;
};

static struct err *note_end(const struct byte_source *source, const struct part_piece *piece,
			    void *argument)
{
	uint64_t *end = argument;

	if (piece->first < UINT32_MAX && piece->first + piece->count > *end)
		*end = piece->first + piece->count;
	return NULL;
}

static struct err *copy_entries(const struct byte_source *source, const struct part_piece *piece,
				void *argument)
{
	struct array *array = argument;
	uint64_t count = piece->count;
	size_t got;

	if (piece->first >= array->count)
		return NULL;
	if (count > array->count - piece->first)
		count = array->count - piece->first;
	return byte_source_read(source, piece->array,
				array->entries + piece->first * piece->entry_size,
				count * piece->entry_size, &got);
}

/* *count becomes how many entries there are, or stays if there are more. */
static struct err *limit_count(const struct byte_source *source, const struct chunk_index *index,
			       enum live_part part, size_t entry_size, uint64_t *count)
{
	uint64_t end = 0;
	struct err *err = each_chunk(source, index, part, entry_size, note_end, &end);

	if (!err && end < *count)
		*count = end;
	return err;
}

struct err *live_part_read_large(const struct byte_source *source, const struct chunk_index *index,
				 enum live_part part, size_t entry_size, uint64_t *count,
				 struct spill *ret)
{
	struct array array = {0};
	struct err *err = limit_count(source, index, part, entry_size, count);

	if (err)
		return err;
	array.count = *count;
	if (!spill_grow(ret, (array.count + 1) * entry_size))
		return err_no_memory();
	array.entries = ret->data;
	memset(array.entries, 0, (array.count + 1) * entry_size);
	return each_chunk(source, index, part, entry_size, copy_entries, &array);
}

struct err *live_part_read(const struct byte_source *source, const struct chunk_index *index,
			   enum live_part part, size_t entry_size, uint64_t *count, void *ret)
{
	struct array array = {0};
	struct err *err = limit_count(source, index, part, entry_size, count);

	if (err)
		return err;
	array.count = *count;
	array.entries = calloc(array.count + 1, entry_size);
	if (!array.entries)
		return err_no_memory();
	err = each_chunk(source, index, part, entry_size, copy_entries, &array);
	if (err) {
		free(array.entries);
		return err;
	}
	*count = array.count;
	*(void **)ret = array.entries;
	return NULL;
}

/* Reads the live table's part of the recording's header. What the file is too short for is 0. */
static struct err *read_header(const struct byte_source *source, struct live_header *ret)
{
	size_t got;

	memset(ret, 0, sizeof(*ret));
	return byte_source_read(source, LIVE_HEADER_OFFSET, ret, sizeof(*ret), &got);
}

static struct err *read_sites(const struct byte_source *source, const struct chunk_index *index,
			      struct live_snapshot *snapshot)
{
	uint64_t count = snapshot->header.sites < LIVE_SITES ? snapshot->header.sites : LIVE_SITES;
	struct err *err = live_part_read(source, index, LIVE_PART_SITES, sizeof(*snapshot->sites),
					 &count, &snapshot->sites);

	snapshot->site_count = err ? 0 : (uint32_t)count;
	return err;
}

static struct err *read_nodes(const struct byte_source *source, const struct chunk_index *index,
			      struct live_snapshot *snapshot)
{
	uint64_t count = snapshot->header.nodes < LIVE_NODES ? snapshot->header.nodes : LIVE_NODES;
	struct err *err = live_part_read(source, index, LIVE_PART_NODES, sizeof(*snapshot->nodes),
					 &count, &snapshot->nodes);

	snapshot->node_count = err ? 0 : (uint32_t)count;
	return err;
}

/* Reads who freed whose blocks, as a square of rows and columns, one for each thread. */
static struct err *read_freed(const struct byte_source *source, const struct chunk_index *index,
			      struct live_snapshot *snapshot)
{
	uint64_t threads = snapshot->thread_count, count = threads * LIVE_THREADS;
	auto_free struct live_freed *freed = NULL;
	struct err *err =
		live_part_read(source, index, LIVE_PART_FREED, sizeof(*freed), &count, &freed);

	if (err)
		return err;
	assert(freed);
	snapshot->freed = calloc(threads * threads + 1, sizeof(*freed));
	if (!snapshot->freed)
		return err_no_memory();
	for (uint64_t i = 0; i < count; i++)
		if (i % LIVE_THREADS < threads)
			snapshot->freed[i / LIVE_THREADS * threads + i % LIVE_THREADS] = freed[i];
	return NULL;
}

static struct err *read_threads(const struct byte_source *source, const struct chunk_index *index,
				struct live_snapshot *snapshot)
{
	uint64_t count =
		snapshot->header.threads < LIVE_THREADS ? snapshot->header.threads : LIVE_THREADS;
	struct err *err = live_part_read(source, index, LIVE_PART_THREADS,
					 sizeof(*snapshot->threads), &count, &snapshot->threads);

	if (err)
		return err;
	// Entry 0 is always there, for threads without an entry, even if the file has none.
	snapshot->thread_count = count ? (uint32_t)count : 1;
	return read_freed(source, index, snapshot);
}

/*
 * Without stacks there is one site. Its sums are not kept, because they are the sums of all
 * threads. Its peak is not known: what is live stands for it.
 */
static void sum_up_stackless(struct live_snapshot *snapshot)
{
	uint64_t threads = snapshot->thread_count;
	struct live_site *site;

	if (snapshot->site_count != STACKLESS + 1 || snapshot->sites[STACKLESS].calls)
		return;
	site = &snapshot->sites[STACKLESS];
	for (uint64_t i = 0; i < threads; i++) {
		site->calls += snapshot->threads[i].calls;
		site->bytes += snapshot->threads[i].bytes;
	}
	for (uint64_t i = 0; i < threads * threads; i++) {
		site->freed_calls += snapshot->freed[i].calls;
		site->freed_bytes += snapshot->freed[i].bytes;
	}
	if (site->calls > site->freed_calls)
		site->peak_calls = site->calls - site->freed_calls;
	if (site->bytes > site->freed_bytes)
		site->peak_bytes = site->bytes - site->freed_bytes;
}

struct err *live_snapshot_read(const struct byte_source *source, struct chunk_index *index,
			       struct damage *damage, bool blocks, struct live_snapshot *ret)
{
	cleanup(live_snapshot_deinit) struct live_snapshot snapshot = {0};
	struct err *err = NULL;

	// A thing, and its chunk, is there before its name is. So read names before what they name.
	if (blocks)
		err = live_blocks_read(source, index, damage, &snapshot.blocks);
	if (!err)
		err = read_header(source, &snapshot.header);
	if (!err)
		err = read_sites(source, index, &snapshot);
	if (!err)
		err = read_header(source, &snapshot.header);
	if (!err)
		err = chunk_index_renew(source, damage, index);
	if (!err)
		err = read_nodes(source, index, &snapshot);
	if (!err)
		err = read_threads(source, index, &snapshot);
	if (err)
		return err;
	sum_up_stackless(&snapshot);
	snapshot.size = byte_source_taken(source);
	*ret = snapshot;
	snapshot = (struct live_snapshot){0};
	return NULL;
}

bool live_snapshot_counts(const struct live_snapshot *snapshot, uint32_t site)
{
	return site < snapshot->site_count && snapshot->sites[site].calls;
}
