/*
 * A recording of events:
 *
 *	 header │ sealed │ slot │ sealed │ gap │ sealed │ slot │ …         walked ▼
 *	──────────────────────────────────────────────────────────────────────────
 *
 * No stream may have a gap at the receiver, after any put. The writer goes on while a look reads,
 * but it finishes chunk n of a stream before it begins chunk n + 1. So whoever sees n + 1 and then
 * looks for n finds it whole.
 *
 * A look copies the slots that have changed. Then it finds the sealed chunks that are new: behind
 * `walked`, in gaps where a writer had reserved room, and in slots that were sealed where they
 * stand. It looks again until it finds no more. It puts these, the chunks of each stream in their
 * order. That need not be the file's order: a slot stands at its place from the beginning, and may
 * be sealed there as the last chunk of its stream. At last it puts the copies of slots.
 */
#include <stdlib.h>
#include <string.h>

#include "base/first_where.h"
#include "stream/sender/changes_data.h"

#define SLOT_ATTEMPTS 8
#define COPIES_MAX    64 /* slots are copied in batches, to bound memory */

static uint64_t payload_at(uint64_t chunk)
{
	return chunk + sizeof(struct trace_chunk);
}

/* Reads a chunk's header. *ret: whether it is valid. */
static struct err *read_chunk(struct changes *changes, uint64_t offset, struct trace_chunk *header,
			      enum chunk_verdict *ret)
{
	uint8_t raw[sizeof(*header)];
	const char *expected;
	size_t got;
	struct err *err = byte_source_read(&changes->source, offset, raw, sizeof(raw), &got);

	if (err)
		return err;
	*ret = got < sizeof(raw) ? CHUNK_HOLE : chunk_check(raw, header, &expected);
	return NULL;
}

static bool is_had(const struct changes *changes, uint64_t offset, uint64_t size)
{
	const struct changes_range *had = changes->chunks.have.items;
	size_t count = changes->chunks.have.count;
	size_t at = first_where(i, 0, count, had[i].offset + had[i].size > offset);

	return at < count && had[at].offset <= offset &&
	       offset + size <= had[at].offset + had[at].size;
}

/*
 * Puts a chunk that is in `buffer`, its first page last: where a chunk begins at the receiver, all
 * of it is there.
 */
static struct err *put_sealed(struct changes *changes, uint64_t offset, uint32_t size)
{
	const uint8_t *bytes = changes->buffer.items;
	struct err *err =
		changes_put(changes, offset + TRACE_PAGE, bytes + TRACE_PAGE, size - TRACE_PAGE);

	if (!err)
		err = changes_put(changes, offset, bytes, TRACE_PAGE);
	if (!err)
		err = changes->sink->sealed(changes->sink->argument, offset, size);
	return err;
}

/* Puts a sealed chunk, unless the receiver has it. *whole: false: it is still being written. */
static struct err *take_sealed(struct changes *changes, uint64_t offset, uint32_t size, bool *whole)
{
	struct err *err;
	size_t got;

	*whole = true;
	if (is_had(changes, offset, size))
		return changes->sink->sealed(changes->sink->argument, offset, size);
	err = changes_room(changes, size);
	if (!err)
		err = byte_source_read(&changes->source, offset, changes->buffer.items, size, &got);
	if (err)
		return err;
	*whole = got == size && chunk_check_trailer(changes->buffer.items, size);
	return *whole ? put_sealed(changes, offset, size) : NULL;
}

static struct err *add_gap(struct changes *changes, uint64_t offset, uint64_t size)
{
	struct chunk_changes *chunks = &changes->chunks;
	const struct changes_range gap = {.offset = offset, .size = size};

	if (chunks->gaps.count) {
		struct changes_range *last = &chunks->gaps.items[chunks->gaps.count - 1];

		if (last->offset + last->size == offset) {
			last->size += size;
			return NULL;
		}
	}
	return vec_push(&chunks->gaps, gap) ? NULL : err_no_memory();
}

/* slot: the one that was sealed where it stands; SIZE_MAX: it was none. */
static struct err *note_found(struct changes *changes, uint64_t offset,
			      const struct trace_chunk *header, size_t slot)
{
	bool events = header->kind == TRACE_CHUNK_EVENTS;
	const struct found_chunk chunk = {
		.offset = offset,
		.size = header->size,
		.stream = events ? header->stream : TRACE_NO_STREAM,
		.sequence = events ? chunk_sequence(header) : 0,
		.slot = slot,
	};

	return vec_push(&changes->chunks.found, chunk) ? NULL : err_no_memory();
}

/* A slot keeps its size; sealed where it stands, it may be as short as its content. */
static bool is_in_slot(const struct changed_slot *slot, const struct trace_chunk *header)
{
	return header->flags & TRACE_CHUNK_SEALED ? header->size <= slot->size
						  : header->size == slot->size;
}

static struct err *note_found_slot(struct changes *changes, size_t number,
				   const struct trace_chunk *header)
{
	struct changed_slot *slot = &changes->chunks.slots.items[number];

	slot->found = true;
	return note_found(changes, slot->offset, header, number);
}

/* Takes what stands at offset. *size: how long that is; 0: its end is not in the file yet. */
static struct err *take_chunk(struct changes *changes, uint64_t offset, uint64_t end,
			      uint64_t *size)
{
	struct trace_chunk header;
	enum chunk_verdict verdict;
	struct err *err = read_chunk(changes, offset, &header, &verdict);

	if (err)
		return err;
	*size = TRACE_PAGE;
	if (verdict == CHUNK_VALID && header.size > end - offset &&
	    offset >= changes->chunks.walked) {
		*size = 0;
		return NULL;
	}
	if (verdict == CHUNK_VALID && header.size <= end - offset) {
		*size = header.size;
		if (header.flags & TRACE_CHUNK_SLOT) {
			const struct changed_slot slot = {.offset = offset, .size = header.size};

			return vec_push(&changes->chunks.slots, slot) ? NULL : err_no_memory();
		}
		if (header.flags & TRACE_CHUNK_SEALED)
			return note_found(changes, offset, &header, SIZE_MAX);
	}
	return add_gap(changes, offset, *size);
}

/* Takes all chunks in a range, the rest of which becomes gaps. *stop: where it ended. */
static struct err *walk_range(struct changes *changes, uint64_t offset, uint64_t end,
			      uint64_t *stop)
{
	struct err *err = NULL;
	bool cut = false;

	while (!err && offset < end && !cut) {
		uint64_t data = changes_next_data(changes, offset, end);
		uint64_t size = 0;

		if (data > offset)
			err = add_gap(changes, offset, data - offset);
		if (!err && data < end) {
			err = take_chunk(changes, data, end, &size);
			cut = !size;
		}
		offset = data + size;
	}
	*stop = offset;
	return err;
}

/* Looks at what the file has got at its end. */
static struct err *walk_end(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	struct err *err = byte_source_size(&changes->source, &changes->size);
	uint64_t end = changes->size & ~(uint64_t)(TRACE_PAGE - 1), stop;

	if (err || end <= chunks->walked)
		return err;
	// A chunk may begin in a gap that the file's end had cut.
	if (chunks->gaps.count) {
		const struct changes_range *last = &chunks->gaps.items[chunks->gaps.count - 1];

		if (last->offset + last->size == chunks->walked) {
			chunks->walked = last->offset;
			chunks->gaps.count--;
		}
	}
	err = walk_range(changes, chunks->walked, end, &stop);
	chunks->walked = stop;
	return err;
}

static struct err *walk_gaps(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	VEC(struct changes_range)
	gaps = {chunks->gaps.items, chunks->gaps.count, chunks->gaps.capacity};
	struct err *err = NULL;
	uint64_t stop;

	memset(&chunks->gaps, 0, sizeof(chunks->gaps));
	for (size_t i = 0; !err && i < gaps.count; i++)
		err = walk_range(changes, gaps.items[i].offset,
				 gaps.items[i].offset + gaps.items[i].size, &stop);
	vec_deinit(&gaps);
	return err;
}

/* Whether a later chunk of the stream was found. */
static bool has_later(const struct chunk_changes *chunks, const struct trace_chunk *header)
{
	for (size_t i = 0; i < chunks->found.count; i++)
		if (chunks->found.items[i].stream == header->stream &&
		    chunks->found.items[i].sequence > chunk_sequence(header))
			return true;
	return false;
}

/*
 * Slots that were sealed where they stand since they were copied: they are put now if a later chunk
 * of their stream was found.
 */
static struct err *find_sealed_slots(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	size_t found = chunks->found.count;
	struct err *err = NULL;

	for (size_t i = 0; !err && found && i < chunks->slots.count; i++) {
		const struct changed_slot *slot = &chunks->slots.items[i];
		struct trace_chunk header;
		enum chunk_verdict verdict;

		if (slot->sealed || slot->found)
			continue;
		err = read_chunk(changes, slot->offset, &header, &verdict);
		if (!err && verdict == CHUNK_VALID && is_in_slot(slot, &header) &&
		    header.flags & TRACE_CHUNK_SEALED && has_later(chunks, &header))
			err = note_found_slot(changes, i, &header);
	}
	return err;
}

/* Finds the sealed chunks that are new, and slots. */
static struct err *find_chunks(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	struct err *err = NULL;
	size_t found;

	// What stands before a chunk that was found may have been finished behind our back.
	do {
		found = chunks->found.count;
		err = walk_end(changes);
		if (!err)
			err = walk_gaps(changes);
	} while (!err && chunks->found.count > found);
	return err ? err : find_sealed_slots(changes);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_stream(const void *left, const void *right)
{
	const struct found_chunk *a = left, *b = right;
	int order = compare_numbers(a->stream, b->stream);

	if (!order)
		order = compare_numbers(a->sequence, b->sequence);
	return order ? order : compare_numbers(a->offset, b->offset);
}

static int by_key(const void *left, const void *right)
{
	const struct found_chunk *a = left, *b = right;
	int order = compare_numbers(a->key, b->key);

	return order ? order : by_stream(left, right);
}

/* Into the file's order, but for chunks that stand before earlier ones of their stream. */
static void sort_found(struct chunk_changes *chunks)
{
	struct found_chunk *found = chunks->found.items;
	size_t count = chunks->found.count;

	if (!count)
		return;
	qsort(found, count, sizeof(*found), by_stream);
	for (size_t i = 0; i < count; i++) {
		bool follows = i && found[i].stream != TRACE_NO_STREAM &&
			       found[i - 1].stream == found[i].stream;

		found[i].key = follows && found[i - 1].key > found[i].offset ? found[i - 1].key
									     : found[i].offset;
	}
	qsort(found, count, sizeof(*found), by_key);
}

static int by_offset(const void *left, const void *right)
{
	const struct changes_range *a = left, *b = right;

	return compare_numbers(a->offset, b->offset);
}

/* After gaps were appended in any order: into ascending order, adjacent ones as one. */
static struct err *sort_gaps(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	size_t count = chunks->gaps.count;
	struct err *err = NULL;

	if (!count)
		return NULL;
	qsort(chunks->gaps.items, count, sizeof(*chunks->gaps.items), by_offset);
	chunks->gaps.count = 0;
	// It is never longer than what was read of it.
	for (size_t i = 0; !err && i < count; i++) {
		struct changes_range gap = chunks->gaps.items[i];

		err = add_gap(changes, gap.offset, gap.size);
	}
	return err;
}

/* Puts what was found, unless it is still being written, and then nothing that comes after it. */
static struct err *put_found(struct changes *changes, enum changes_look which)
{
	struct chunk_changes *chunks = &changes->chunks;
	VEC(uint32_t) late = VEC_EMPTY; /* streams, a chunk of which is not whole */
	struct err *err = NULL;

	sort_found(chunks);
	for (size_t i = 0; !err && i < chunks->found.count; i++) {
		const struct found_chunk *chunk = &chunks->found.items[i];
		bool whole = true;

		for (size_t j = 0; which == CHANGES_NOW && j < late.count; j++)
			whole &= late.items[j] != chunk->stream;
		if (whole)
			err = take_sealed(changes, chunk->offset, chunk->size, &whole);
		if (chunk->slot != SIZE_MAX) {
			struct changed_slot *slot = &chunks->slots.items[chunk->slot];

			slot->sealed = !err && whole;
			slot->found = false;
			if (slot->sealed && slot->size > chunk->size)
				err = add_gap(changes, slot->offset + chunk->size,
					      slot->size - chunk->size);
		} else if (!err && !whole) {
			err = add_gap(changes, chunk->offset, chunk->size);
		}
		if (!err && !whole && chunk->stream != TRACE_NO_STREAM &&
		    !vec_push(&late, chunk->stream))
			err = err_no_memory();
	}
	chunks->found.count = 0;
	vec_deinit(&late);
	return err ? err : sort_gaps(changes);
}

/*
 * Copies a slot if it has changed. Its writer may begin the next chunk at any moment: then the copy
 * is worth nothing.
 */
static struct err *copy_slot(struct changes *changes, size_t number)
{
	struct chunk_changes *chunks = &changes->chunks;
	struct changed_slot *slot = &chunks->slots.items[number];
	struct slot_copy copy = {.slot = number, .at = chunks->copied.count};

	for (int attempt = 0; attempt < SLOT_ATTEMPTS; attempt++) {
		struct trace_chunk after;
		enum chunk_verdict verdict;
		uint32_t committed;
		size_t got;
		struct err *err = read_chunk(changes, slot->offset, &copy.header, &verdict);

		if (err)
			return err;
		if (verdict != CHUNK_VALID || !is_in_slot(slot, &copy.header))
			return NULL; // damaged: it is put as it is at the last look
		// A chunk begins by its commit word; the other fields are stored after it.
		if (slot->begun && memcmp(&copy.header, &slot->header, sizeof(copy.header)) == 0)
			return NULL;
		if (copy.header.flags & TRACE_CHUNK_SEALED)
			return note_found_slot(changes, number, &copy.header);
		committed = chunk_committed(&copy.header);
		if (!vec_reserve(&chunks->copied, committed + 1))
			return err_no_memory();
		err = byte_source_read(&changes->source, payload_at(slot->offset),
				       chunks->copied.items + copy.at, committed, &got);
		if (!err)
			err = read_chunk(changes, slot->offset, &after, &verdict);
		if (err)
			return err;
		if (verdict != CHUNK_VALID || got < committed ||
		    chunk_sequence(&after) != chunk_sequence(&copy.header) ||
		    after.flags != copy.header.flags)
			continue;
		chunks->copied.count += committed;
		return vec_push(&chunks->copies, copy) ? NULL : err_no_memory();
	}
	return NULL; // it is too busy now
}

/* Puts what the receiver does not have of a slot; the commit word comes last. */
static struct err *put_slot(struct changes *changes, const struct slot_copy *copy)
{
	struct changed_slot *slot = &changes->chunks.slots.items[copy->slot];
	const uint8_t *payload = changes->chunks.copied.items + copy->at;
	uint32_t committed = chunk_committed(&copy->header);
	uint32_t from = chunk_committed(&slot->header);
	struct trace_chunk header = copy->header;
	struct err *err = NULL;

	if (!slot->begun || chunk_sequence(&slot->header) != chunk_sequence(&copy->header) ||
	    from > committed) {
		from = 0;
		// From now on nobody reads the old payload.
		header.commit = trace_commit_word(chunk_sequence(&copy->header), 0);
		err = changes_put(changes, slot->offset, &header, sizeof(header));
	}
	if (!err)
		err = changes_put(changes, payload_at(slot->offset) + from, payload + from,
				  committed - from);
	if (!err)
		err = changes_put(changes, slot->offset, &copy->header, sizeof(copy->header));
	slot->begun = true;
	slot->header = copy->header;
	return err;
}

static struct err *put_copies(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < chunks->copies.count; i++) {
		const struct slot_copy *copy = &chunks->copies.items[i];

		// It may have been sealed since it was copied.
		if (!chunks->slots.items[copy->slot].sealed)
			err = put_slot(changes, copy);
	}
	chunks->copies.count = chunks->copied.count = 0;
	return err;
}

/* Puts a range as it stands, but for its holes. */
static struct err *put_range(struct changes *changes, uint64_t offset, uint64_t end)
{
	struct err *err = changes_room(changes, CHANGES_PUT_MAX);
	size_t got;

	while (!err && offset < end) {
		uint64_t data = changes_next_data(changes, offset, end);
		uint64_t part = end - data < CHANGES_PUT_MAX ? end - data : CHANGES_PUT_MAX;

		if (data >= end)
			break;
		err = byte_source_read(&changes->source, data, changes->buffer.items, part, &got);
		if (!err)
			err = changes_put(changes, data, changes->buffer.items, got);
		offset = data + part;
	}
	return err;
}

/*
 * Nobody writes any more: puts all that is not in a chunk, and the rest of each slot, where there
 * are bytes of earlier chunks. None of it means anything, but then the files are equal.
 */
static struct err *put_rest(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < chunks->slots.count; i++) {
		const struct changed_slot *slot = &chunks->slots.items[i];
		uint64_t from = slot->begun
					? payload_at(slot->offset) + chunk_committed(&slot->header)
					: slot->offset;

		if (!slot->sealed)
			err = put_range(changes, from, slot->offset + slot->size);
	}
	for (size_t i = 0; !err && i < chunks->gaps.count; i++)
		err = put_range(changes, chunks->gaps.items[i].offset,
				chunks->gaps.items[i].offset + chunks->gaps.items[i].size);
	// The file's end may cut a page.
	if (!err && changes->size > chunks->walked)
		err = put_range(changes, chunks->walked, changes->size);
	return err;
}

struct err *chunk_changes_look(struct changes *changes, enum changes_look which)
{
	struct chunk_changes *chunks = &changes->chunks;
	size_t known, number = 0;
	struct err *err = NULL;
	bool more;

	// New slots are found on the way. They are copied, too, and then once more is looked for
	// chunks: so the first look has all that there is. All other slots come once more before
	// them: one of them may hold the chunk before, and more of it than when it was copied.
	do {
		while (!err && number < chunks->slots.count && chunks->copies.count < COPIES_MAX) {
			if (!chunks->slots.items[number].sealed)
				err = copy_slot(changes, number);
			number++;
		}
		known = chunks->slots.count;
		if (!err)
			err = find_chunks(changes);
		if (!err)
			err = put_found(changes, which);
		if (!err)
			err = put_copies(changes);
		more = number < chunks->slots.count;
		if (chunks->slots.count > known)
			number = 0;
	} while (!err && more);
	if (!err && which == CHANGES_LAST)
		err = put_rest(changes);
	return err;
}
