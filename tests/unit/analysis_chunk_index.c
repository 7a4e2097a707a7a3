/* The index of a file whose writer goes on while it is read. */
#include <stddef.h>

#include "analysis/chunks/chunk_index.h"
#include "check.h"
#include "trace/format.h"
#include "trace_writer.h"

struct err *__real_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret);
struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret);

static struct trace_writer writer;
static size_t slot_at, next_at;
static uint64_t last_commit; /* what the slot's writer commits before the next chunk is read */

struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret)
{
	if (offset == next_at)
		trace_writer_poke(&writer, slot_at + offsetof(struct trace_chunk, commit),
				  last_commit, 8);
	return __real_byte_source_read(source, offset, buffer, size, ret);
}

/*
 * A program writes its last records and ends, and `mallow run` appends a chunk to its stream: all
 * of it after the slot was read, and before what is behind it.
 */
static void slot_that_was_read_too_early(void **state)
{
	struct chunk_index index;
	struct damage damage = {0};
	uint64_t early;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SLOT);
	slot_at = writer.chunk;
	trace_writer_varint(&writer, 1);
	early = trace_commit_word(0, 1);
	trace_writer_varint(&writer, 2);
	trace_writer_varint(&writer, 3);
	last_commit = trace_commit_word(0, 3);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 0, 1, TRACE_WRITER_SEALED);
	next_at = writer.chunk;
	trace_writer_seal(&writer);
	trace_writer_poke(&writer, slot_at + offsetof(struct trace_chunk, commit), early, 8);

	struct byte_source source = byte_source_memory("growing", writer.data, writer.size);

	assert_ok(chunk_index_build(&source, &damage, &index));
	assert_int_equal(damage.chunks, 0);
	assert_int_equal(index.chunks.count, 2);
	assert_int_equal(index.chunks.items[0].offset, slot_at);
	assert_int_equal(chunk_committed(&index.chunks.items[0].header), 3);
	assert_memory_equal(index.chunks.items[0].copy, "\1\2\3", 3);
	assert_int_equal(index.payload, 3);
	assert_int_equal(index.missing, 0);
	chunk_index_deinit(&index);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(slot_that_was_read_too_early)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
