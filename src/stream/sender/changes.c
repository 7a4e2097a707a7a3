#include "stream/sender/changes.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "stream/sender/changes_data.h"
#include "trace/checksum.h"
#include "trace/chunk_check.h"

void changes_destroy(struct changes *changes)
{
	if (!changes)
		return;
	for (size_t i = 0; i < changes->pages.groups.count; i++)
		free(changes->pages.groups.items[i]);
	vec_deinit(&changes->pages.groups);
	vec_deinit(&changes->chunks.gaps);
	vec_deinit(&changes->chunks.have);
	vec_deinit(&changes->chunks.slots);
	vec_deinit(&changes->chunks.found);
	vec_deinit(&changes->chunks.copies);
	vec_deinit(&changes->chunks.copied);
	vec_deinit(&changes->buffer);
	free(changes);
}
CLEANUP_DEFINE(struct changes *, changes_destroy);

/* *same: the page is as it was. */
static struct err *read_header(struct changes *changes, bool *same)
{
	uint8_t page[TRACE_PAGE];
	size_t got;
	struct err *err = byte_source_read(&changes->source, 0, page, sizeof(page), &got);

	if (err)
		return err;
	if (got < sizeof(page))
		return err_create("%s: shorter than a recording's header", changes->source.name);
	*same = memcmp(changes->header, page, sizeof(page)) == 0;
	memcpy(changes->header, page, sizeof(page));
	return NULL;
}

struct err *changes_create(int fd, const char *name, struct changes **ret)
{
	cleanup(changes_destroy_at) struct changes *changes = calloc(1, sizeof(*changes));
	struct trace_header header;
	struct err *err;
	bool same;

	if (!changes)
		return err_no_memory();
	changes->source = (struct byte_source){.name = name, .fd = fd};
	changes->chunks.walked = TRACE_PAGE;
	err = read_header(changes, &same);
	if (err)
		return err;
	if (header_check(changes->header, sizeof(changes->header), &header) != HEADER_VALID ||
	    header.header_size != TRACE_PAGE)
		return err_create("%s: not a recording", name);
	*ret = steal(&changes);
	return NULL;
}

struct err *changes_skip(struct changes *changes, uint64_t offset, uint64_t size)
{
	const struct changes_range range = {.offset = offset, .size = size};

	return vec_push(&changes->chunks.have, range) ? NULL : err_no_memory();
}

struct err *changes_put(struct changes *changes, uint64_t offset, const void *data, uint64_t size)
{
	const uint8_t *from = data;
	struct err *err = NULL;

	changes->changed |= size > 0;
	while (!err && size) {
		size_t part = size < CHANGES_PUT_MAX ? (size_t)size : CHANGES_PUT_MAX;

		err = changes->sink->put(changes->sink->argument, offset, from, part);
		offset += part;
		from += part;
		size -= part;
	}
	return err;
}

struct err *changes_room(struct changes *changes, uint64_t size)
{
	changes->buffer.count = 0;
	return vec_reserve(&changes->buffer, size) ? NULL : err_no_memory();
}

uint64_t changes_next_data(const struct changes *changes, uint64_t offset, uint64_t end)
{
	uint64_t next = byte_source_next_unit(&changes->source, offset, TRACE_PAGE);

	return next < end ? next : end;
}

/*
 * A live table changes anywhere at any time, so its pages are compared by hash with what was put.
 * Two different pages with the same hash of 63 bits would be taken for one: once in 10^18.
 */

#define PARITY UINT64_C(1)

/* The place for the hash of a page. NULL: no memory. */
static uint64_t *hash_at(struct page_changes *pages, uint64_t page)
{
	size_t group = (size_t)(page / PAGE_GROUP);

	while (pages->groups.count <= group)
		if (!vec_push(&pages->groups, NULL))
			return NULL;
	if (!pages->groups.items[group])
		pages->groups.items[group] = calloc(PAGE_GROUP, sizeof(uint64_t));
	if (!pages->groups.items[group])
		return NULL;
	return &pages->groups.items[group][page % PAGE_GROUP];
}

static bool is_zero(const uint8_t *page, size_t size)
{
	return page[0] == 0 && memcmp(page, page + 1, size - 1) == 0;
}

/* Whether the page differs from what was put; then it is noted as put. */
static struct err *note_page(struct page_changes *pages, uint64_t page, const uint8_t *bytes,
			     size_t size, bool *differs)
{
	uint64_t *hash = hash_at(pages, page);
	uint64_t now;

	if (!hash)
		return err_no_memory();
	*differs = false;
	if (!*hash && is_zero(bytes, size))
		return NULL;
	now = (XXH64(bytes, size, 0) | 2) & ~PARITY; // never 0
	*differs = (*hash & ~PARITY) != now;
	*hash = now | pages->parity;
	return NULL;
}

/* Puts those of these pages that differ, runs of them at once. */
static struct err *put_pages(struct changes *changes, uint64_t offset, const uint8_t *bytes,
			     size_t size)
{
	size_t run = 0; /* where a run of changed pages begins */
	struct err *err = NULL;

	for (size_t at = 0; !err && at < size; at += TRACE_PAGE) {
		size_t part = size - at < TRACE_PAGE ? size - at : TRACE_PAGE;
		bool differs = false;

		err = note_page(&changes->pages, (offset + at) / TRACE_PAGE, bytes + at, part,
				&differs);
		if (!err && !differs) {
			err = changes_put(changes, offset + run, bytes + run, at - run);
			run = at + part;
		}
	}
	return err ? err : changes_put(changes, offset + run, bytes + run, size - run);
}

/* Pages that were put and were not seen in this look have become holes. */
static struct err *put_holes(struct changes *changes)
{
	static const uint8_t zeros[TRACE_PAGE];
	struct page_changes *pages = &changes->pages;
	struct err *err = NULL;

	for (size_t group = 0; group < pages->groups.count; group++) {
		uint64_t *hashes = pages->groups.items[group];

		for (size_t i = 0; hashes && !err && i < PAGE_GROUP; i++) {
			if (!hashes[i] || (hashes[i] & PARITY) == pages->parity)
				continue;
			err = changes_put(changes, (group * PAGE_GROUP + i) * TRACE_PAGE, zeros,
					  sizeof(zeros));
			hashes[i] = 0;
		}
	}
	return err;
}

static struct err *look_at_pages(struct changes *changes)
{
	uint64_t offset = TRACE_PAGE;
	struct err *err = changes_room(changes, CHANGES_PUT_MAX);

	changes->pages.parity ^= PARITY;
	while (!err && offset < changes->size) {
		uint64_t data = changes_next_data(changes, offset, changes->size);
		size_t got = 0;

		if (data >= changes->size)
			break;
		err = byte_source_read(&changes->source, data, changes->buffer.items,
				       CHANGES_PUT_MAX, &got);
		if (!err && got && changes->buffer.items)
			err = put_pages(changes, data, changes->buffer.items, got);
		if (!got)
			break;
		offset = data + CHANGES_PUT_MAX;
	}
	return err ? err : put_holes(changes);
}

struct err *changes_look(struct changes *changes, enum changes_look which,
			 const struct changes_sink *sink, bool *changed)
{
	struct err *err = byte_source_size(&changes->source, &changes->size);
	bool same = true;

	changes->sink = sink;
	changes->changed = false;
	// Before the rest: who reads that it has ended must have all of it.
	if (!err)
		err = read_header(changes, &same);
	if (!err)
		err = changes_header(changes)->flags & TRACE_LIVE
			      ? look_at_pages(changes)
			      : chunk_changes_look(changes, which);
	if (!err && (!same || !changes->header_put || which == CHANGES_LAST)) {
		err = changes_put(changes, 0, changes->header, TRACE_PAGE);
		changes->header_put = true;
	}
	*changed = changes->changed;
	return err;
}

const struct trace_header *changes_header(const struct changes *changes)
{
	return (const struct trace_header *)changes->header;
}

uint64_t changes_size(const struct changes *changes)
{
	return changes->size;
}
