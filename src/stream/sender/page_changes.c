/*
 * A live table changes anywhere at any time, so its pages are compared by hash with what was put.
 * Two different pages with the same hash of 63 bits would be taken for one: once in 10^18.
 */
#include <string.h>

#include "stream/sender/changes_data.h"
#include "trace/checksum.h"

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

struct err *page_changes_look(struct changes *changes)
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
