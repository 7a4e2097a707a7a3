#include "stream/module_walk.h"

#include "hosted/cleanup.h"
#include "trace/chunk_check.h"

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

struct err *module_walk(struct named_modules *modules, const struct byte_source *source,
			uint64_t *walked)
{
	uint64_t offset = TRACE_PAGE, end;
	struct err *err = byte_source_size(source, &end);

	while (!err && offset < end) {
		uint8_t raw[sizeof(struct trace_chunk)];
		struct trace_chunk header;
		const char *expected;
		bool valid;
		size_t got;

		err = byte_source_read(source, offset, raw, sizeof(raw), &got);
		valid = !err && got == sizeof(raw) &&
			chunk_check(raw, &header, &expected) == CHUNK_VALID;
		if (valid && header.kind == TRACE_CHUNK_EVENTS &&
		    (header.flags & TRACE_CHUNK_SLOT || offset >= *walked))
			err = module_walk_chunk(modules, source, offset, header.size);
		offset = byte_source_next(source, offset + (valid ? header.size : TRACE_PAGE)) &
			 ~(uint64_t)(TRACE_PAGE - 1);
	}
	if (!err)
		*walked = offset;
	return err;
}
