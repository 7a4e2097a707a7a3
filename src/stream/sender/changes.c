#include "stream/sender/changes.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "stream/sender/changes_data.h"
#include "trace/chunk_check.h"

static bool is_table(const struct changes *changes)
{
	return changes_header(changes)->flags & TRACE_LIVE;
}

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
		err = is_table(changes) ? page_changes_look(changes)
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
