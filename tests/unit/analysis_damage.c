/* Recordings that are cut, torn and flipped: a partial result or an error, never a crash. */
#include <stdlib.h>
#include <string.h>

#include "analysis/recording.h"
#include "analysis/recording_memory.h"
#include "check.h"
#include "sample_recordings.h"

#define FLIPS 1000

static uint64_t touch_pools(struct recording *recording, uint32_t stack_count)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(recording, &count);
	uint64_t live = 0, length = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t calls = 0;

		for (uint32_t j = 0; j < pools[i].site_count; j++) {
			uint32_t stack = pools[i].sites[j].stack;

			assert_true(stack == RECORDING_NONE || stack < stack_count);
			calls += pools[i].sites[j].calls;
		}
		assert_int_equal(calls, pools[i].sum.calls);
		assert_true(pools[i].sum.leaked_blocks + pools[i].frees + pools[i].implicit_frees <=
			    calls);
		live += pools[i].sum.live_bytes;
		length += strlen(pools[i].name);
	}
	assert_int_equal(live, recording_pool_sum(recording)->live_bytes);
	return length;
}

/* Touches everything that a view would, so that a sanitizer sees what is wrong. */
static uint64_t touch(struct recording *recording)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint32_t site_count, stack_count, frame_count, module_count, thread_count, count;
	const struct site *sites = recording_sites(recording, &site_count);
	const struct stack_node *stacks = recording_stacks(recording, &stack_count);
	const struct recorded_frame *frames = recording_frames(recording, &frame_count);
	const struct recorded_module *modules = recording_modules(recording, &module_count);
	const struct recorded_mark *marks;
	uint64_t calls = 0, leaked = 0, length = 0;

	recording_threads(recording, &thread_count);
	for (uint64_t i = 0; i < blocks->count; i++) {
		assert_true(!i || blocks->allocated_ns[i] >= blocks->allocated_ns[i - 1]);
		assert_true(blocks->site[i] < site_count);
		assert_true(blocks->thread[i] < thread_count);
		assert_true(blocks->freed_ns[i] == TIME_NEVER ||
			    blocks->freed_ns[i] >= blocks->allocated_ns[i]);
		assert_true(blocks->successor[i] == RECORDING_NONE ||
			    blocks->successor[i] < blocks->count);
		leaked += blocks->freed_ns[i] == TIME_NEVER;
	}
	for (uint32_t i = 0; i < site_count; i++) {
		assert_true(sites[i].stack == RECORDING_NONE || sites[i].stack < stack_count);
		calls += sites[i].calls;
		leaked -= sites[i].leaked_blocks;
	}
	// Of samples the sums are estimates.
	if (!recording_facts(recording)->sample_mean) {
		assert_int_equal(calls, blocks->count);
		assert_int_equal(leaked, 0);
	}
	for (uint32_t i = 0; i < stack_count; i++) {
		assert_true(stacks[i].frame < frame_count);
		assert_true(stacks[i].parent == RECORDING_NONE || stacks[i].parent < i);
	}
	for (uint32_t i = 0; i < frame_count; i++)
		assert_true(frames[i].module == RECORDING_NONE || frames[i].module < module_count);
	for (uint32_t i = 0; i < module_count; i++)
		length += strlen(modules[i].path);
	length += touch_pools(recording, stack_count);
	marks = recording_marks(recording, &count);
	for (uint32_t i = 0; i < count; i++)
		length += strlen(marks[i].name);
	return length;
}

/* Opens a copy of exactly that size. NULL: an error, with a message. */
static struct recording *open_copy(const uint8_t *data, size_t size)
{
	struct recording *recording = NULL;
	uint8_t *copy = malloc(size ? size : 1);
	struct err *err;

	assert_non_null(copy);
	memcpy(copy, data, size);
	err = recording_open_memory("damaged.mallow", copy, size,
				    RECORDING_BLOCKS | RECORDING_HEAP_ERRORS | RECORDING_LIVE_LINE,
				    &recording);
	free(copy);
	if (err) {
		assert_non_null(strstr(err_message(err), "damaged.mallow"));
		err_destroy(err);
		return NULL;
	}
	touch(recording);
	return recording;
}

static void cut_everywhere(void **state)
{
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct trace_writer writer;
		uint64_t events = 0;

		sample_recordings[i].write(&writer);
		for (size_t size = 0; size <= writer.size; size++) {
			struct recording *recording = open_copy(writer.data, size);

			// From the end of the header's fields on there is always something to read.
			assert_true(!recording == (size < 256));
			if (!recording)
				continue;
			// With more of the file there is never less in it.
			assert_true(recording_facts(recording)->events >= events);
			events = recording_facts(recording)->events;
			assert_true(size == writer.size || !recording_facts(recording)->complete);
			recording_close(recording);
		}
		trace_writer_deinit(&writer);
	}
}

static void flip_bits(void **state)
{
	unsigned int seed = 20240607, damaged = 0;

	for (unsigned int i = 0; i < FLIPS; i++) {
		struct trace_writer writer;

		sample_recordings[i % sample_recording_count].write(&writer);
		for (unsigned int flips = 1 + i % 3; flips; flips--) {
			size_t byte;

			do {
				byte = (size_t)rand_r(&seed) % writer.size;
				// Most of a file is padding: skip most of that.
			} while (!writer.data[byte] && rand_r(&seed) % 16);
			writer.data[byte] ^= 1u << (rand_r(&seed) % 8);
		}

		struct recording *recording = open_copy(writer.data, writer.size);

		if (recording)
			damaged += recording_facts(recording)->damaged_chunks != 0;
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
	// A flip within a sealed chunk is always noticed, by its checksum.
	assert_true(damaged > FLIPS / 4);
}

/* What the facts say about a bad record: where it is and what was expected. */
static void damage_is_told(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SLOT);
	trace_writer_allocate(&writer, 1, 1, 0x1000, 10); // five bytes
	trace_writer_byte(&writer, 0);
	trace_writer_allocate(&writer, 1, 1, 0x2000, 10);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 1, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(&writer, 1, 1, 0x3000, 10);
	trace_writer_seal(&writer);
	writer.data[writer.size - 100] ^= 1;
	recording = open_copy(writer.data, writer.size);

	const struct recording_facts *facts = recording_facts(recording);

	assert_int_equal(facts->allocations, 2);
	assert_int_equal(facts->damaged_chunks, 2);
	assert_int_equal(facts->first_damage, 4096 + 64 + 5);
	assert_string_equal(facts->first_damage_text, "a record of a known operation");
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* The writer died while it appended the copy of a slot, or just after. */
static void slot_or_copy(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	for (int torn = 0; torn < 2; torn++) {
		trace_writer_init(&writer);
		trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SLOT);
		trace_writer_allocate(&writer, 1, 1, 0x1000, 10);
		trace_writer_allocate(&writer, 1, 1, 0x2000, 20);
		trace_writer_seal(&writer);
		trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
		trace_writer_allocate(&writer, 1, 1, 0x1000, 10);
		trace_writer_allocate(&writer, 1, 1, 0x2000, 20);
		trace_writer_seal(&writer);
		if (torn)
			memset(writer.data + writer.chunk + 64, 0, 4000);
		recording = open_copy(writer.data, writer.size);
		assert_int_equal(recording_facts(recording)->allocations, 2);
		assert_int_equal(recording_facts(recording)->chunks, 1);
		assert_int_equal(recording_facts(recording)->damaged_chunks, 0);
		assert_int_equal(recording_summary(recording)->total_bytes, 30);
		recording_close(recording);
		trace_writer_deinit(&writer);
	}
}

/* Sizes, depths and sequences that promise more than there is cost nothing. */
static void huge_claims(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, UINT32_MAX, TRACE_WRITER_SLOT);
	trace_writer_carried(&writer, UINT32_MAX);
	trace_writer_allocate(&writer, 1, 1, 0x1000, 10);
	trace_writer_seal(&writer);
	trace_writer_poke(&writer, writer.chunk + 12, 1 << 30, 4);
	trace_writer_poke(&writer, writer.chunk + 24, (1 << 30) - 72, 4);
	recording = open_copy(writer.data, writer.size);
	assert_int_equal(recording_facts(recording)->missing_chunks, UINT32_MAX);
	assert_int_equal(recording_facts(recording)->allocations, 0);
	assert_true(recording_facts(recording)->damaged_chunks > 0);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_everywhere), cmocka_unit_test(flip_bits),
		cmocka_unit_test(damage_is_told), cmocka_unit_test(slot_or_copy),
		cmocka_unit_test(huge_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
