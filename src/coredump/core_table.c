#include "coredump/core_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "trace/chunk_check.h"
#include "trace/live.h"

#define MAPPED_NAME "/memfd:mallow-live:"

void core_table_deinit(struct core_table *table)
{
	vec_deinit(&table->extents);
	vec_deinit(&table->pieces);
	if (table->header_made)
		close(table->header_fd);
}

static struct err *add_piece(struct core_table *table, uint64_t at, uint64_t size, uint64_t from,
			     int fd)
{
	struct byte_piece piece = {.at = at, .size = size, .from = from, .fd = fd};

	return vec_push(&table->pieces, piece) ? NULL : err_no_memory();
}

/* Adds what the image holds of one extent. */
static struct err *add_extent(const struct core_image *image, const struct table_extent *extent,
			      struct core_table *table)
{
	uint64_t end = extent->address + extent->size;
	struct err *err = NULL;

	if (end < extent->address)
		return NULL;
	for (size_t i = core_image_find(image, extent->address);
	     !err && i < image->segments.count && image->segments.items[i].address < end; i++) {
		const struct core_segment *segment = &image->segments.items[i];
		uint64_t from =
			segment->address > extent->address ? segment->address : extent->address;
		uint64_t to = segment->address + segment->held;

		if (to > end)
			to = end;
		if (from < to)
			err = add_piece(table, extent->offset + (from - extent->address), to - from,
					segment->offset + (from - segment->address), segment->fd);
	}
	return err;
}

static int compare_pieces(const void *left, const void *right)
{
	const struct byte_piece *a = left, *b = right;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* Orders the pieces. Where two have the same bytes, the first one's count. */
static void settle_pieces(struct core_table *table)
{
	struct byte_piece *pieces = table->pieces.items;
	uint64_t end = 0, held = 0;
	size_t kept = 0;

	if (table->pieces.count)
		qsort(pieces, table->pieces.count, sizeof(*pieces), compare_pieces);
	for (size_t i = 0; i < table->pieces.count; i++) {
		struct byte_piece piece = pieces[i];

		if (piece.at < end) {
			uint64_t before = end - piece.at;

			if (before >= piece.size)
				continue;
			piece.at += before;
			piece.from += before;
			piece.size -= before;
		}
		end = piece.at + piece.size;
		held += piece.size;
		pieces[kept++] = piece;
	}
	table->pieces.count = kept;
	for (size_t i = 0; i < table->extents.count; i++) {
		const struct table_extent *extent = &table->extents.items[i];

		if (extent->offset + extent->size > table->size)
			table->size = extent->offset + extent->size;
	}
	if (end > table->size)
		table->size = end;
	table->missing = table->size - held;
	table->has_header = kept && pieces[0].at == 0 && pieces[0].size >= TRACE_PAGE;
}

static struct err *make_pieces(const struct core_image *image, struct core_table *table)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < table->extents.count; i++)
		err = add_extent(image, &table->extents.items[i], table);
	if (!err)
		settle_pieces(table);
	return err;
}

/* Whether the chunk that begins at data has a copy of the header. */
static bool has_copy(const uint8_t *data)
{
	struct live_chunk live;
	struct trace_chunk chunk;
	const char *expected;

	memcpy(&live, data + LIVE_CHUNK_OFFSET, sizeof(live));
	return chunk_check(data, &chunk, &expected) == CHUNK_VALID &&
	       chunk.kind == TRACE_CHUNK_LIVE && live.part != LIVE_PART_HEADS &&
	       bytes_u64(data + LIVE_COPY_OFFSET) == ~TRACE_MAGIC;
}

/* A header's page with that begin: all numbers may be in use, and nothing is known of losses. */
static void fill_page(uint8_t *page, const uint8_t *copy)
{
	const struct live_header numbers = {
		.nodes = LIVE_NODES, .sites = LIVE_SITES, .threads = LIVE_THREADS};

	memcpy(page, copy, LIVE_COPY_SIZE);
	bytes_put_u64(page, TRACE_MAGIC);
	memcpy(page + LIVE_HEADER_OFFSET, &numbers, sizeof(numbers));
}

static struct err *add_page(const char *name, const uint8_t *page, struct core_table *table)
{
	struct err *err;
	int fd = memfd_create("header", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, page, TRACE_PAGE, 0) != TRACE_PAGE) {
		err = err_create_errno(errno, "%s: no memory for a page", name);
		if (fd >= 0)
			close(fd);
		return err;
	}
	table->header_fd = fd;
	table->header_made = true;
	err = add_piece(table, 0, TRACE_PAGE, 0, fd);
	if (!err)
		settle_pieces(table);
	table->missing += TRACE_PAGE;
	return err;
}

struct err *core_table_make_header(const char *name, struct core_table *table, bool *ret)
{
	const struct byte_source source =
		byte_source_pieces(name, table->pieces.items, table->pieces.count, table->size);
	uint8_t data[LIVE_COPY_OFFSET + LIVE_COPY_SIZE], page[TRACE_PAGE] = {0};
	struct err *err;
	size_t got;

	*ret = false;
	// The dump may end within the header's page: what it has of that gives way to the new one.
	if (table->pieces.count && !table->pieces.items[0].at)
		table->pieces.items[0].size = 0;
	// One mapping may have several chunks, so each page is looked at.
	for (uint64_t at = byte_source_next_unit(&source, TRACE_PAGE, TRACE_PAGE); at < table->size;
	     at = byte_source_next_unit(&source, at + TRACE_PAGE, TRACE_PAGE)) {
		err = byte_source_read(&source, at, data, sizeof(data), &got);
		if (err)
			return err;
		if (got < sizeof(data) || !has_copy(data))
			continue;
		fill_page(page, data + LIVE_COPY_OFFSET);
		*ret = true;
		return add_page(name, page, table);
	}
	return NULL;
}

/* The process whose table a mapping belongs to. 0: it is no table. */
static uint32_t owner_of(const struct core_mapping *mapping)
{
	if (strncmp(mapping->path, MAPPED_NAME, strlen(MAPPED_NAME)) != 0)
		return 0;
	return (uint32_t)strtoul(mapping->path + strlen(MAPPED_NAME), NULL, 10);
}

struct err *core_table_by_mappings(const struct core_image *image, struct core_table *ret,
				   uint32_t *pid)
{
	uint32_t owner = 0;

	for (size_t i = 0; i < image->mappings.count; i++) {
		uint32_t found = owner_of(&image->mappings.items[i]);

		if (found && (!owner || found == image->pid))
			owner = found;
	}
	for (size_t i = 0; owner && i < image->mappings.count; i++) {
		const struct core_mapping *mapping = &image->mappings.items[i];
		struct table_extent extent = {mapping->offset, mapping->end - mapping->start,
					      mapping->start};

		if (owner_of(mapping) != owner || extent.offset >> CORE_SCAN_TABLE_BITS ||
		    extent.size >> CORE_SCAN_TABLE_BITS ||
		    (extent.offset | extent.size | extent.address) % TRACE_PAGE)
			continue;
		if (!vec_push(&ret->extents, extent))
			return err_no_memory();
	}
	*pid = owner;
	return make_pieces(image, ret);
}

/* How many bytes the chunks of a table have. */
static uint64_t weight_of(const struct core_scan *scan, const uint8_t *id)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < scan->chunks.count; i++)
		if (memcmp(scan->chunks.items[i].place.id, id, TRACE_PLACE_ID) == 0)
			sum += scan->chunks.items[i].place.size;
	return sum;
}

/* The header of the table to be read. NULL: there is none. */
static const struct found_header *choose_header(const struct core_image *image,
						const struct core_scan *scan)
{
	const struct found_header *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < scan->headers.count; i++) {
		const struct found_header *header = &scan->headers.items[i];
		uint64_t weight = weight_of(scan, header->id) + 1;

		if (image->pid && header->pid == image->pid)
			return header;
		if (weight > most) {
			best = header;
			most = weight;
		}
	}
	return best;
}

/* Whether all chunks of the table that lie in the segment agree where the segment was in memory. */
static bool find_address(const struct core_scan *scan, const uint8_t *id, size_t segment,
			 uint64_t *ret)
{
	bool found = false;

	for (size_t i = 0; i < scan->chunks.count; i++) {
		const struct found_chunk *chunk = &scan->chunks.items[i];

		if (chunk->segment != segment || memcmp(chunk->place.id, id, TRACE_PLACE_ID) != 0)
			continue;
		if (found && chunk->place.address - chunk->at != *ret)
			return false;
		*ret = chunk->place.address - chunk->at;
		found = true;
	}
	return found;
}

/*
 * Gives the segments of a raw dump the addresses that its chunks tell. So a chunk whose end is in
 * another dump of the same process is found there.
 */
static void set_addresses(struct core_image *image, const struct core_scan *scan, const uint8_t *id)
{
	size_t kept = 0;

	for (size_t i = 0; i < image->segments.count; i++) {
		struct core_segment segment = image->segments.items[i];

		if (find_address(scan, id, i, &segment.address) &&
		    segment.address + (segment.size - 1) >= segment.address)
			image->segments.items[kept++] = segment;
	}
	image->segments.count = kept;
	core_image_sort(image);
}

/* Adds the bytes from where the chunk was found to the end of its segment, or of the chunk. */
static struct err *add_found(const struct core_image *image, const struct found_chunk *chunk,
			     struct core_table *table)
{
	const struct core_segment *segment = &image->segments.items[chunk->segment];
	struct table_extent extent = {chunk->place.offset, chunk->place.size, chunk->place.address};
	uint64_t there = segment->held - chunk->at;

	if (!vec_push(&table->extents, extent))
		return err_no_memory();
	return add_piece(table, chunk->place.offset,
			 there < chunk->place.size ? there : chunk->place.size,
			 segment->offset + chunk->at, segment->fd);
}

struct err *core_table_by_chunks(struct core_image *image, const struct core_scan *scan, bool raw,
				 struct core_table *ret, uint32_t *pid)
{
	const struct found_header *header = choose_header(image, scan);
	const struct core_segment *segment;
	uint64_t there;
	struct err *err;

	if (!header)
		return NULL;
	*pid = header->pid;
	segment = &image->segments.items[header->segment];
	there = segment->held - header->at;
	err = add_piece(ret, 0, there < TRACE_PAGE ? there : TRACE_PAGE,
			segment->offset + header->at, segment->fd);
	// Its page may lie in two segments.
	if (!err && !raw &&
	    !vec_push(&ret->extents,
		      (struct table_extent){0, TRACE_PAGE, segment->address + header->at}))
		err = err_no_memory();
	for (size_t i = 0; !err && i < scan->chunks.count; i++)
		if (memcmp(scan->chunks.items[i].place.id, header->id, TRACE_PLACE_ID) == 0)
			err = add_found(image, &scan->chunks.items[i], ret);
	if (err)
		return err;
	if (raw)
		set_addresses(image, scan, header->id);
	return make_pieces(image, ret);
}
