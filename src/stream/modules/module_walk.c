#include "stream/modules/module_walk.h"

#include "hosted/cleanup.h"
#include "trace/chunk_check.h"

void module_walk_deinit(struct module_walk *walk)
{
	vec_deinit(&walk->pages);
}

struct err *module_walk_chunk(struct named_modules *modules, const struct byte_source *source,
			      uint64_t offset, uint32_t size)
{
	auto_free uint8_t *bytes = malloc(size);
	struct err *err;
	size_t got;

	if (!bytes)
		return err_no_memory();
	err = byte_source_read(source, offset, bytes, size, &got);
	return err ? err : named_modules_add(modules, bytes, got);
}

static bool is_known(const struct module_walk *walk, uint64_t offset)
{
	uint64_t page = offset / TRACE_PAGE;

	return page / 64 < walk->pages.count && walk->pages.items[page / 64] >> page % 64 & 1;
}

static struct err *note_known(struct module_walk *walk, uint64_t offset)
{
	uint64_t page = offset / TRACE_PAGE;

	while (walk->pages.count <= page / 64)
		if (!vec_push(&walk->pages, 0))
			return err_no_memory();
	walk->pages.items[page / 64] |= UINT64_C(1) << page % 64;
	return NULL;
}

/* Notes the modules of a chunk, unless it is known. */
static struct err *take(struct named_modules *modules, const struct byte_source *source,
			struct module_walk *walk, uint64_t offset, const struct trace_chunk *header)
{
	bool sealed = header->flags & TRACE_CHUNK_SEALED;
	struct err *err;

	if (header->kind != TRACE_CHUNK_EVENTS || (sealed && is_known(walk, offset)))
		return NULL;
	err = module_walk_chunk(modules, source, offset, header->size);
	return !err && sealed ? note_known(walk, offset) : err;
}

static bool is_found(const struct named_modules *modules, const struct module_walk_goal *goal)
{
	return goal && named_modules_find(modules, goal->build_id, goal->size);
}

struct err *module_walk(struct named_modules *modules, const struct byte_source *source,
			enum module_walk_which which, const struct module_walk_goal *goal,
			struct module_walk *walk)
{
	uint64_t offset = TRACE_PAGE, end;
	struct err *err = byte_source_size(source, &end);

	while (!err && offset < end && !is_found(modules, goal)) {
		uint8_t raw[sizeof(struct trace_chunk)];
		struct trace_chunk header;
		const char *expected;
		bool valid;
		size_t got;

		err = byte_source_read(source, offset, raw, sizeof(raw), &got);
		valid = !err && got == sizeof(raw) &&
			chunk_check(raw, &header, &expected) == CHUNK_VALID;
		if (valid && (which == MODULE_WALK_ALL || header.flags & TRACE_CHUNK_SLOT ||
			      offset >= walk->end))
			err = take(modules, source, walk, offset, &header);
		offset = byte_source_next_unit(source, offset + (valid ? header.size : TRACE_PAGE),
					       TRACE_PAGE);
	}
	if (!err && offset > walk->end)
		walk->end = offset;
	return err;
}
