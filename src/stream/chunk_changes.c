/*
 * A recording of events:
 *
 *	 header │ sealed │ slot │ sealed │ gap │ sealed │ slot │ …         walked ▼
 *	──────────────────────────────────────────────────────────────────────────
 *
 * A look copies the slots that have changed, then finds the sealed chunks that are new (behind
 * `walked`, and in gaps, where a writer had reserved room), and puts first these and then the
 * copies. In a copy a chunk n means that n - 1 was in the file when the copy was made: so no stream
 * has a gap at the receiver.
 */
#include <string.h>

#include "stream/changes_data.h"

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
	size_t low = 0, high = changes->chunks.have.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct changes_range *range = &changes->chunks.have.items[middle];

		if (range->offset + range->size <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == changes->chunks.have.count)
		return false;

	const struct changes_range *range = &changes->chunks.have.items[low];

	return range->offset <= offset && offset + size <= range->offset + range->size;
}

/*
 * Puts a chunk that is in `buffer`, its first page last: where a chunk begins at the receiver, all
 * of it is there.
 */
static struct err *put_sealed(struct changes *changes, uint64_t offset, uint32_t size)
{
	const uint8_t *bytes = changes->buffer.items;
	struct err *err = changes_put(changes, offset + TRACE_PAGE, bytes + TRACE_PAGE,
				      size - TRACE_PAGE);

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

/* Takes what stands at offset. *size: how long that is; 0: its end is not in the file yet. */
static struct err *take(struct changes *changes, uint64_t offset, uint64_t end, uint64_t *size)
{
	struct trace_chunk header;
	enum chunk_verdict verdict;
	bool whole = false;
	struct err *err = read_chunk(changes, offset, &header, &verdict);

	if (err)
		return err;
	*size = TRACE_PAGE;
	if (verdict == CHUNK_VALID && header.size > end - offset && offset >= changes->chunks.walked) {
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
			err = take_sealed(changes, offset, header.size, &whole);
	}
	return err || whole ? err : add_gap(changes, offset, *size);
}

/* Takes all chunks in a range, the rest of which becomes gaps. *stop: where it ended. */
static struct err *walk(struct changes *changes, uint64_t offset, uint64_t end, uint64_t *stop)
{
	struct err *err = NULL;
	bool cut = false;

	while (!err && offset < end && !cut) {
		uint64_t data = changes_next_data(changes, offset, end);
		uint64_t size = 0;

		if (data > offset)
			err = add_gap(changes, offset, data - offset);
		if (!err && data < end) {
			err = take(changes, data, end, &size);
			cut = !size;
		}
		offset = data + size;
	}
	*stop = offset;
	return err;
}

/* Finds the chunks that were written since the last look. */
static struct err *find_chunks(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	VEC(struct changes_range) gaps = {chunks->gaps.items, chunks->gaps.count,
					  chunks->gaps.capacity};
	uint64_t end, stop;
	struct err *err;

	memset(&chunks->gaps, 0, sizeof(chunks->gaps));
	err = byte_source_size(&changes->source, &changes->size);
	for (size_t i = 0; !err && i < gaps.count; i++)
		err = walk(changes, gaps.items[i].offset,
			   gaps.items[i].offset + gaps.items[i].size, &stop);
	vec_deinit(&gaps);
	end = changes->size & ~(uint64_t)(TRACE_PAGE - 1);
	if (!err && end > chunks->walked) {
		err = walk(changes, chunks->walked, end, &stop);
		chunks->walked = stop;
	}
	return err;
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
		if (verdict != CHUNK_VALID || copy.header.size != slot->size)
			return NULL; // damaged: it is put as it is at the last look
		if (slot->begun && copy.header.commit == slot->commit &&
		    copy.header.flags & TRACE_CHUNK_SLOT)
			return NULL;
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
	uint32_t from = (uint32_t)slot->commit;
	struct trace_chunk header = copy->header;
	struct err *err = NULL;

	if (!slot->begun || slot->commit >> 32 != chunk_sequence(&copy->header) ||
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
	slot->commit = copy->header.commit;
	return err;
}

/* A slot that is sealed where it stands: all of it is put once more. */
static struct err *put_sealed_slot(struct changes *changes, struct changed_slot *slot)
{
	bool whole;
	struct err *err = take_sealed(changes, slot->offset, slot->size, &whole);

	slot->sealed = !err && whole;
	return err;
}

static struct err *put_copies(struct changes *changes)
{
	struct chunk_changes *chunks = &changes->chunks;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < chunks->copies.count; i++) {
		const struct slot_copy *copy = &chunks->copies.items[i];

		err = copy->header.flags & TRACE_CHUNK_SEALED
			      ? put_sealed_slot(changes, &chunks->slots.items[copy->slot])
			      : put_slot(changes, copy);
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
		uint64_t from = slot->begun ? payload_at(slot->offset) + (uint32_t)slot->commit
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
	size_t known = 0, number = 0;
	struct err *err = NULL;

	// New slots are found on the way. They are copied, too, and then once more is looked for
	// chunks: so the first look has all that there is.
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
			err = put_copies(changes);
	} while (!err && (number < known || chunks->slots.count > known));
	if (!err && which == CHANGES_LAST)
		err = put_rest(changes);
	return err;
}
