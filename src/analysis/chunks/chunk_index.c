#include "analysis/chunks/chunk_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "hosted/cleanup.h"
#include "trace/checksum.h"

#define SLOT_ATTEMPTS 8

void chunk_index_deinit(struct chunk_index *index)
{
	for (size_t i = 0; i < index->chunks.count; i++)
		free(index->chunks.items[i].copy);
	vec_deinit(&index->chunks);
	vec_deinit(&index->packs);
	vec_deinit(&index->kept);
	vec_deinit(&index->live);
}
CLEANUP_DEFINE(struct chunk_index *, chunk_index_deinit);

static bool is_slot(const struct indexed_chunk *chunk)
{
	return chunk->header.flags & TRACE_CHUNK_SLOT;
}

/* The place of an events chunk in the file, or that of the packed chunk it is in. */
static struct chunk_extent extent_of(const struct chunk_index *index,
				     const struct indexed_chunk *chunk)
{
	return (struct chunk_extent){
		.offset = chunk->offset,
		.size = chunk->pack == CHUNK_UNPACKED ? chunk->header.size
						      : index->packs.items[chunk->pack].size,
	};
}

static bool is_cut(const struct chunk_index *index, const struct indexed_chunk *chunk)
{
	struct chunk_extent extent = extent_of(index, chunk);

	return extent.offset + extent.size > index->file_size;
}

/* Reads the header of a slot again. *same: it is a slot still, and the same one of its stream. */
static struct err *read_slot_again(const struct byte_source *source,
				   const struct indexed_chunk *chunk, struct trace_chunk *now,
				   bool *same)
{
	uint8_t raw[sizeof(*now)];
	const char *expected;
	size_t got;
	struct err *err = byte_source_read(source, chunk->offset, raw, sizeof(raw), &got);

	*same = !err && got == sizeof(raw) && chunk_check(raw, now, &expected) == CHUNK_VALID &&
		now->flags == chunk->header.flags &&
		chunk_sequence(now) == chunk_sequence(&chunk->header);
	return err;
}

/*
 * Copies the committed payload of a slot whose header was just read. *again: meanwhile the writer
 * began the slot's next chunk, or sealed this one in its place.
 */
static struct err *copy_slot(const struct byte_source *source, struct damage *damage,
			     struct indexed_chunk *chunk, bool *again)
{
	uint32_t committed = chunk_committed(&chunk->header);
	auto_free uint8_t *copy = malloc(committed ? committed : 1);
	struct trace_chunk after;
	struct err *err;
	bool same;
	size_t got;

	*again = false;
	if (!copy)
		return err_no_memory();
	err = byte_source_read(source, chunk->offset + sizeof(chunk->header), copy, committed,
			       &got);
	if (err)
		return err;
	if (got < committed) {
		uint32_t sequence = chunk_sequence(&chunk->header);

		damage_note(damage, chunk->offset, "a whole chunk before the file's end");
		chunk->header.commit = trace_commit_word(sequence, (uint32_t)got);
	}
	err = read_slot_again(source, chunk, &after, &same);
	if (!err && same)
		chunk->copy = steal(&copy);
	*again = !err && !same;
	return err;
}

/* Notes a pair of clock readings if it is the latest. 0: the clock could not be read. */
static void note_clock(struct chunk_index *index, const struct trace_chunk *header)
{
	if (!header->open_monotonic_ns || header->open_ticks < index->latest_ticks)
		return;
	index->latest_monotonic_ns = header->open_monotonic_ns;
	index->latest_ticks = header->open_ticks;
}

/* Keeps a piece of the file. Adjacent pieces become one. */
static struct err *keep(struct chunk_index *index, uint64_t offset, uint64_t size)
{
	struct chunk_extent extent = {.offset = offset, .size = size};

	if (index->kept.count) {
		struct chunk_extent *last = &index->kept.items[index->kept.count - 1];

		if (last->offset + last->size == offset) {
			last->size += size;
			return NULL;
		}
	}
	return vec_push(&index->kept, extent) ? NULL : err_no_memory();
}

static struct err *take_damage(struct chunk_index *index, struct damage *damage, uint64_t offset,
			       uint64_t size, const char *expected)
{
	damage_note(damage, offset, expected);
	index->stray_end = offset + size;
	return keep(index, offset, size);
}

static struct err *take_slot(struct chunk_index *index, const struct byte_source *source,
			     struct damage *damage, struct indexed_chunk *chunk, bool *again)
{
	struct err *err;

	err = copy_slot(source, damage, chunk, again);
	if (err || *again)
		return err;
	if (!vec_push(&index->chunks, *chunk)) {
		free(chunk->copy);
		return err_no_memory();
	}
	note_clock(index, &chunk->header);
	return NULL;
}

static struct err *take_sealed(struct chunk_index *index, const struct indexed_chunk *chunk)
{
	note_clock(index, &chunk->header);
	return vec_push(&index->chunks, *chunk) ? NULL : err_no_memory();
}

/* Takes the events chunks inside a packed one. */
static struct err *take_packed(struct chunk_index *index, const struct byte_source *source,
			       struct damage *damage, const struct indexed_chunk *outer)
{
	auto_free struct trace_chunk *headers = NULL;
	struct packed_chunk packed;
	const char *expected;
	uint32_t at = 0;
	struct err *err;

	err = packed_chunk_read_headers(source, outer->offset, &outer->header, &packed, &headers,
					&expected);
	if (err)
		return err;
	if (expected)
		return take_damage(index, damage, outer->offset, outer->header.size, expected);
	for (uint32_t i = 0; !err && i < packed.count; i++) {
		struct indexed_chunk chunk = {
			.offset = outer->offset,
			.header = headers[i],
			.pack = (uint32_t)index->packs.count,
			.pack_at = at,
		};

		at += chunk_committed(&headers[i]);
		err = take_sealed(index, &chunk);
	}
	if (!err && !vec_push(&index->packs, packed))
		err = err_no_memory();
	return err;
}

/* Takes a chunk with a valid header. *again: it is a slot that changed while it was copied. */
static struct err *take_chunk(struct chunk_index *index, const struct byte_source *source,
			      struct damage *damage, struct indexed_chunk *chunk, bool *again)
{
	struct extra_chunk extra = {
		.offset = chunk->offset,
		.size = chunk->header.size,
		.committed = chunk_committed(&chunk->header),
	};

	*again = false;
	switch (chunk->header.kind) {
	case TRACE_CHUNK_EVENTS:
		if (is_slot(chunk))
			return chunk->header.stream == TRACE_NO_STREAM
				       ? NULL
				       : take_slot(index, source, damage, chunk, again);
		return take_sealed(index, chunk);
	case TRACE_CHUNK_PACKED:
		return take_packed(index, source, damage, chunk);
	case TRACE_CHUNK_SYMBOLS:
		index->symbols = extra;
		return NULL;
	case TRACE_CHUNK_INDEX:
		index->index = extra;
		return NULL;
	case TRACE_CHUNK_CURVE:
		index->curve = extra;
		return NULL;
	case TRACE_CHUNK_UNSEEN:
		index->unseen = extra;
		return NULL;
	case TRACE_CHUNK_LIVE:
		if (!vec_push(&index->live, (struct chunk_extent){extra.offset, extra.size}))
			return err_no_memory();
		break;
	}
	return keep(index, chunk->offset, chunk->header.size);
}

/*
 * Handles a page on which no chunk begins. Zeros were never written to and are dropped. Other bytes
 * are kept: they may follow a damaged header, and somebody may be able to read them. In a finished
 * file, whose chunks follow each other, they are what is left of a chunk without its header.
 */
static struct err *take_hole(struct chunk_index *index, const struct byte_source *source,
			     struct damage *damage, uint64_t offset)
{
	static const uint8_t zeros[TRACE_PAGE];
	uint8_t page[TRACE_PAGE];
	struct err *err;
	size_t got;

	err = byte_source_read(source, offset, page, sizeof(page), &got);
	if (err || memcmp(page, zeros, got) == 0)
		return err;
	if (!index->finished_size || index->stray_end == offset) {
		index->stray_end = offset + got;
		return keep(index, offset, got);
	}
	return take_damage(index, damage, offset, got, "a chunk");
}

/* Takes what stands at offset. *size: how far to go on. */
static struct err *take(struct chunk_index *index, const struct byte_source *source,
			struct damage *damage, uint64_t offset, uint64_t *size)
{
	static const uint64_t magic = TRACE_CHUNK_MAGIC;
	struct indexed_chunk chunk = {.offset = offset, .pack = CHUNK_UNPACKED};
	uint8_t raw[sizeof(struct trace_chunk)];
	const char *expected;
	struct err *err;
	bool again = true;
	size_t got;

	*size = TRACE_PAGE;
	for (int attempt = 0; again && attempt < SLOT_ATTEMPTS; attempt++) {
		err = byte_source_read(source, offset, raw, sizeof(raw), &got);
		if (err)
			return err;
		if (got < sizeof(raw)) {
			if (got &&
			    memcmp(raw, &magic, got < sizeof(magic) ? got : sizeof(magic)) == 0)
				return take_damage(index, damage, offset, got,
						   "a whole chunk header");
			return take_hole(index, source, damage, offset);
		}

		enum chunk_verdict verdict = chunk_check(raw, &chunk.header, &expected);

		if (verdict == CHUNK_DAMAGED)
			return take_damage(index, damage, offset, TRACE_PAGE, expected);
		if (verdict != CHUNK_VALID)
			return take_hole(index, source, damage, offset);
		*size = chunk.header.size;
		err = take_chunk(index, source, damage, &chunk, &again);
		if (err)
			return err;
	}
	if (again)
		damage_note(damage, offset, "a slot that keeps still");
	return NULL;
}

static struct err *walk(struct chunk_index *index, const struct byte_source *source,
			struct damage *damage)
{
	uint64_t offset = TRACE_PAGE, size;
	struct err *err;

	err = byte_source_size(source, &index->file_size);
	while (!err) {
		if (offset >= index->file_size) {
			uint64_t before = index->file_size;

			// If it grew the walk goes on. That ends, because by then all slots have
			// been copied.
			err = byte_source_size(source, &index->file_size);
			if (err || index->file_size <= before)
				break;
		}
		err = take(index, source, damage, offset, &size);
		// What a core dump does not have may be large.
		offset = byte_source_next_unit(source, offset + size, TRACE_PAGE);
	}
	return err;
}

/* Reads how large the file is to be, which a finished one says. */
static struct err *read_size(struct chunk_index *index, const struct byte_source *source)
{
	uint8_t page[TRACE_SIZE_OFFSET + 8] = {0};
	uint32_t flags = 0;
	size_t got;
	struct err *err = byte_source_read(source, 0, page, sizeof(page), &got);

	flags = bytes_u32(page + offsetof(struct trace_header, flags));
	if (!err && flags & TRACE_FINISHED)
		index->finished_size = bytes_u64(page + TRACE_SIZE_OFFSET);
	return err;
}

static int compare(const void *left, const void *right)
{
	const struct indexed_chunk *a = left, *b = right;

	if (a->header.stream != b->header.stream)
		return a->header.stream < b->header.stream ? -1 : 1;
	if (chunk_sequence(&a->header) != chunk_sequence(&b->header))
		return chunk_sequence(&a->header) < chunk_sequence(&b->header) ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* *ret: whether the chunk is whole and its checksum is right. */
static struct err *is_sound(const struct byte_source *source, struct chunk_extent extent, bool *ret)
{
	auto_free uint8_t *bytes = malloc(extent.size);
	struct err *err;
	size_t got;

	if (!bytes)
		return err_no_memory();
	err = byte_source_read(source, extent.offset, bytes, extent.size, &got);
	if (err)
		return err;
	*ret = got == extent.size && chunk_check_trailer(bytes, got);
	return NULL;
}

/*
 * Chooses between two chunks with the same stream and sequence. *ret: the second is to be read. A
 * slot is preferred to its sealed copy, because the copy may be incomplete. But a copy that is
 * sound and has at least as many bytes is preferred: in a file that is being written it is more
 * complete, and it is safe even if the slot's writer died between two stores.
 */
static struct err *prefer_second(const struct chunk_index *index, const struct byte_source *source,
				 const struct indexed_chunk *first,
				 const struct indexed_chunk *second, bool *ret)
{
	const struct indexed_chunk *slot = is_slot(first) ? first : second;
	const struct indexed_chunk *sealed = is_slot(first) ? second : first;
	struct err *err;
	bool sound = false;

	if (is_slot(first) == is_slot(second)) {
		*ret = chunk_committed(&second->header) > chunk_committed(&first->header) &&
		       (is_slot(first) || !is_cut(index, second));
		return NULL;
	}
	if (!is_cut(index, sealed) &&
	    chunk_committed(&sealed->header) >= chunk_committed(&slot->header)) {
		err = is_sound(source, extent_of(index, sealed), &sound);
		if (err)
			return err;
	}
	*ret = (sound ? sealed : slot) == second;
	return NULL;
}

/* Keeps one chunk for each stream and sequence. */
static struct err *resolve(struct chunk_index *index, const struct byte_source *source)
{
	struct indexed_chunk *chunks = index->chunks.items;
	size_t kept = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < index->chunks.count; i++) {
		bool second = true;

		if (!kept || chunks[kept - 1].header.stream != chunks[i].header.stream ||
		    chunk_sequence(&chunks[kept - 1].header) != chunk_sequence(&chunks[i].header)) {
			chunks[kept++] = chunks[i];
			continue;
		}
		if (!err)
			err = prefer_second(index, source, &chunks[kept - 1], &chunks[i], &second);
		free(second ? chunks[kept - 1].copy : chunks[i].copy);
		if (second)
			chunks[kept - 1] = chunks[i];
	}
	index->chunks.count = kept;
	return err;
}

/*
 * Reads slots again that have a chunk of their stream behind them. `mallow run` appends it when the
 * program has ended; if the walk was at the slot before that and at the chunk after it, the slot's
 * last records were not there yet, and nobody comes back to a slot that is not the last chunk.
 */
static struct err *read_slots_again(struct chunk_index *index, const struct byte_source *source,
				    struct damage *damage)
{
	for (size_t i = 0; i + 1 < index->chunks.count; i++) {
		struct indexed_chunk *chunk = &index->chunks.items[i];
		struct indexed_chunk now = {.offset = chunk->offset, .pack = CHUNK_UNPACKED};
		bool same, moved = true;
		struct err *err;

		if (!is_slot(chunk) || chunk[1].header.stream != chunk->header.stream)
			continue;
		err = read_slot_again(source, chunk, &now.header, &same);
		if (!err && same && chunk_committed(&now.header) > chunk_committed(&chunk->header))
			err = copy_slot(source, damage, &now, &moved);
		if (err)
			return err;
		if (moved)
			continue;
		free(chunk->copy);
		*chunk = now;
	}
	return NULL;
}

static void add_to_fingerprint(XXH64_state_t *state, const struct trace_chunk *header)
{
	const uint64_t words[] = {
		header->stream,     header->commit,  header->open_ticks, header->open_monotonic_ns,
		header->base_ticks, header->carried,
	};

	XXH64_update(state, words, sizeof(words));
}

static void count(struct chunk_index *index)
{
	XXH64_state_t fingerprint;
	uint32_t stream = 0;
	uint64_t next = 0;

	XXH64_reset(&fingerprint, 0);
	for (size_t i = 0; i < index->chunks.count; i++) {
		const struct trace_chunk *header = &index->chunks.items[i].header;

		if (!i || header->stream != stream) {
			next = 0;
			index->streams++;
		}
		stream = header->stream;
		index->missing += chunk_sequence(header) - next;
		next = (uint64_t)chunk_sequence(header) + 1;
		index->payload += chunk_committed(header);
		add_to_fingerprint(&fingerprint, header);
	}
	index->fingerprint = XXH64_digest(&fingerprint);
}

struct err *chunk_index_build(const struct byte_source *source, struct damage *damage,
			      struct chunk_index *ret)
{
	struct chunk_index index = {.chunks = VEC_EMPTY};
	cleanup(chunk_index_deinit_at) struct chunk_index *guard = &index;
	struct err *err;

	err = read_size(&index, source);
	if (!err)
		err = walk(&index, source, damage);
	if (err)
		return err;
	if (index.file_size < index.finished_size)
		damage_note(damage, index.file_size, "the rest of the file");
	if (index.chunks.count)
		qsort(index.chunks.items, index.chunks.count, sizeof(*index.chunks.items), compare);
	err = resolve(&index, source);
	if (!err)
		err = read_slots_again(&index, source, damage);
	if (err)
		return err;
	count(&index);
	guard = NULL;
	*ret = index;
	return NULL;
}

struct err *chunk_index_renew(const struct byte_source *source, struct damage *damage,
			      struct chunk_index *index)
{
	struct chunk_index renewed;
	struct damage found = {0};
	struct err *err = chunk_index_build(source, &found, &renewed);

	if (err)
		return err;
	chunk_index_deinit(index);
	*index = renewed;
	*damage = found;
	return NULL;
}

struct err *chunk_index_check(const struct chunk_index *index, const struct byte_source *source,
			      bool *ret)
{
	struct err *err = NULL;
	bool sound = true;

	for (size_t i = 0; !err && sound && i < index->chunks.count; i++) {
		const struct indexed_chunk *chunk = &index->chunks.items[i];

		if (chunk->pack == CHUNK_UNPACKED && !is_slot(chunk))
			err = is_sound(source, extent_of(index, chunk), &sound);
	}
	for (size_t i = 0; !err && sound && i < index->packs.count; i++) {
		const struct packed_chunk *pack = &index->packs.items[i];

		err = is_sound(source, (struct chunk_extent){pack->offset, pack->size}, &sound);
	}
	*ret = sound;
	return err;
}
