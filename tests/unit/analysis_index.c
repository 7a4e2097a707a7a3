/* The index of a finished recording: says what the events say, and never more than it can prove. */
#include <string.h>

#include "analysis/index/index_pack.h"
#include "analysis/index/index_read.h"
#include "analysis/recording_data.h"
#include "analysis/recording_memory.h"
#include "check.h"
#include "hosted/cleanup.h"
#include "sample_recordings.h"
#include "trace/checksum.h"

static struct recording *open_sample(const struct sample_recording *sample, unsigned int needs)
{
	struct recording *recording = NULL;
	struct trace_writer writer;

	sample->write(&writer);
	assert_ok(recording_open_memory("x", writer.data, writer.size, needs, &recording));
	trace_writer_deinit(&writer);
	return recording;
}

/* An empty recording with the header's facts and chunks of another. */
static struct recording *blank(const struct recording *recording)
{
	static const char *const none[] = {NULL};
	struct recording_facts *facts;
	struct recording *ret;

	assert_ok(recording_create(&ret));
	ret->tables->fingerprint = recording->tables->fingerprint;
	ret->facts = recording->facts;
	facts = &ret->facts;
	facts->sight = NULL;
	facts->program = facts->directory = facts->host = "";
	facts->kernel = facts->agent_version = "";
	facts->arguments = none;
	facts->ended = facts->complete = false;
	facts->end_reason = TRACE_END_UNKNOWN;
	facts->end_status = 0;
	facts->duration_ns = facts->events = facts->allocations = facts->frees = 0;
	facts->reallocs = facts->failed_allocations = 0;
	facts->unknown_frees = facts->implicit_frees = 0;
	return ret;
}

static void pack(const struct recording *recording, struct buf *ret)
{
	buf_init(ret);
	assert_ok(index_pack(recording, ret));
	assert_ok(buf_finish(ret));
}

#define assert_same_items(a, b, vec)                                                               \
	do {                                                                                       \
		assert_int_equal((a)->vec.count, (b)->vec.count);                                  \
		if ((a)->vec.count)                                                                \
			assert_memory_equal((a)->vec.items, (b)->vec.items,                        \
					    (a)->vec.count * sizeof(*(a)->vec.items));             \
	} while (0)

static void round_trip(void **state)
{
	unsigned int sound = 0;

	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct recording *recording = open_sample(&sample_recordings[i], RECORDING_SUMS);
		struct recording *read = blank(recording);
		struct buf first, second;
		bool used;

		pack(recording, &first);
		// Of a damaged recording nothing is said.
		assert_int_equal(first.size == 0, recording->facts.damaged_chunks != 0);
		assert_ok(index_read(read, (const uint8_t *)first.data, first.size, &used));
		assert_int_equal(used, first.size != 0);
		if (used) {
			sound++;
			assert_memory_equal(&recording->summary, &read->summary,
					    sizeof(read->summary));
			assert_same_items(recording, read, tables->stacks);
			assert_same_items(recording, read, tables->memory);
			assert_int_equal(recording->pools->pools.count, read->pools->pools.count);
			assert_memory_equal(&recording->pools->all, &read->pools->all,
					    sizeof(read->pools->all));
			assert_int_equal(recording->tables->frames.frames.count,
					 read->tables->frames.frames.count);
			assert_int_equal(recording->facts.complete, read->facts.complete);
			assert_string_equal(recording->facts.program, read->facts.program);
			// Texts and what has padding are compared by writing them again.
			pack(read, &second);
			assert_int_equal(first.size, second.size);
			assert_memory_equal(first.data, second.data, first.size);
			buf_deinit(&second);
		}
		buf_deinit(&first);
		recording_close(read);
		recording_close(recording);
	}
	assert_true(sound >= 2);
}

static const struct sample_recording *sound_sample(void)
{
	for (unsigned int i = 0; i < sample_recording_count; i++) {
		struct recording *recording = open_sample(&sample_recordings[i], RECORDING_SUMS);
		bool sound = !recording->facts.damaged_chunks && recording->sites.sites.count > 1;

		recording_close(recording);
		if (sound)
			return &sample_recordings[i];
	}
	fail_msg("no sample is sound");
	return NULL;
}

/* Whatever is refused leaves the recording as it was. */
static bool reads(const struct recording *recording, const uint8_t *data, size_t size)
{
	struct recording *read = blank(recording);
	struct recording_facts before = read->facts;
	bool used = true;

	assert_ok(index_read(read, data, size, &used));
	if (!used) {
		assert_memory_equal(&before, &read->facts, sizeof(before));
		assert_int_equal(read->sites.sites.count + read->tables->stacks.count, 0);
		assert_int_equal(read->tables->threads.count + read->tables->modules.modules.count,
				 0);
	}
	recording_close(read);
	return used;
}

static void cut_and_extended(void **state)
{
	struct recording *recording = open_sample(sound_sample(), RECORDING_SUMS);
	struct buf whole;

	pack(recording, &whole);
	for (size_t size = 0; size < whole.size; size++) {
		// A copy of that size, so that a read behind its end is seen by ASan.
		auto_free uint8_t *copy = malloc(size + 1);

		assert_non_null(copy);
		memcpy(copy, whole.data, size);
		assert_false(reads(recording, copy, size));
	}
	buf_char(&whole, 0);
	assert_false(reads(recording, (const uint8_t *)whole.data, whole.size));
	buf_deinit(&whole);
	recording_close(recording);
}

static void check_pool(const struct recording *recording, const struct recorded_pool *pool)
{
	assert_non_null(pool->name);
	assert_true(pool->wrong_stack == RECORDING_NONE ||
		    pool->wrong_stack < recording->tables->stacks.count);
	for (uint32_t i = 0; i < pool->site_count; i++)
		assert_true(pool->sites[i].stack == RECORDING_NONE ||
			    pool->sites[i].stack < recording->tables->stacks.count);
}

/* Every byte takes every value: nothing crashes, and every reference that is accepted exists. */
static void changed(void **state)
{
	struct recording *recording = open_sample(sound_sample(), RECORDING_SUMS);
	struct buf whole;
	uint8_t *data;

	pack(recording, &whole);
	data = (uint8_t *)whole.data;
	for (size_t i = 0; i < whole.size; i++) {
		uint8_t was = data[i];

		for (unsigned int value = 0; value < 256; value++) {
			struct recording *read = blank(recording);
			bool used;

			data[i] = (uint8_t)value;
			assert_ok(index_read(read, data, whole.size, &used));
			assert_true(!used || i >= 9 || value == was);
			for (size_t j = 0; j < read->sites.sites.count; j++) {
				uint32_t stack = read->sites.sites.items[j].stack;

				assert_true(stack == RECORDING_NONE ||
					    stack < read->tables->stacks.count);
			}
			for (size_t j = 0; j < read->pools->pools.count; j++)
				check_pool(read, &read->pools->pools.items[j]);
			for (size_t j = 0; j < read->tables->stacks.count; j++) {
				const struct stack_node *node = &read->tables->stacks.items[j];

				assert_true(node->frame < read->tables->frames.frames.count);
				assert_true(node->parent == RECORDING_NONE || node->parent < j);
			}
			recording_close(read);
		}
		data[i] = was;
	}
	buf_deinit(&whole);
	recording_close(recording);
}

/* A recording with an index chunk at its end, stored as it is. */
static void add_index(struct trace_writer *writer, const struct buf *payload, uint64_t checksum_off)
{
	uint8_t page[64 * 1024] = {0};
	struct trace_chunk chunk = {
		.magic = TRACE_CHUNK_MAGIC,
		.kind = TRACE_CHUNK_INDEX,
		.flags = TRACE_CHUNK_SEALED,
		.commit = trace_commit_word(0, (uint32_t)payload->size + 1),
	};
	uint64_t checksum;

	chunk.size = (uint32_t)(sizeof(chunk) + payload->size + 1 + 8 + 4095) / 4096 * 4096;
	assert_true(chunk.size <= sizeof(page));
	memcpy(page, &chunk, sizeof(chunk));
	page[sizeof(chunk)] = TRACE_STORAGE_RAW;
	memcpy(page + sizeof(chunk) + 1, payload->data, payload->size);
	checksum = trace_checksum(page, sizeof(chunk), page + sizeof(chunk),
				  chunk.size - 8 - sizeof(chunk)) +
		   checksum_off;
	memcpy(page + chunk.size - 8, &checksum, sizeof(checksum));
	for (size_t i = 0; i < chunk.size; i++)
		trace_writer_byte(writer, page[i]);
}

static void check_opened(const struct trace_writer *writer, unsigned int needs, bool indexed,
			 const struct recording *expected)
{
	struct recording *recording = NULL;
	struct buf first, second;

	assert_ok(recording_open_memory("x", writer->data, writer->size, needs, &recording));
	assert_int_equal(recording_facts(recording)->indexed, indexed);
	assert_int_equal(recording_blocks(recording)->count,
			 needs & RECORDING_BLOCKS && !indexed ? expected->facts.allocations : 0);
	pack(expected, &first);
	pack(recording, &second);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	buf_deinit(&first);
	buf_deinit(&second);
	recording_close(recording);
}

static void open_by_index(void **state)
{
	const struct sample_recording *sample = sound_sample();
	struct recording *expected = open_sample(sample, RECORDING_SUMS);
	struct recording *facts = open_sample(sample, RECORDING_RUN_FACTS);
	struct recording *blocks = open_sample(sample, RECORDING_BLOCKS);
	struct trace_writer writer;
	struct buf payload;

	pack(facts, &payload);
	sample->write(&writer);
	check_opened(&writer, RECORDING_RUN_FACTS, false, facts);
	add_index(&writer, &payload, 0);
	check_opened(&writer, RECORDING_SUMS, true, facts);
	check_opened(&writer, RECORDING_RUN_FACTS, true, facts);
	check_opened(&writer, RECORDING_FROM_EVENTS, false, expected);
	check_opened(&writer, RECORDING_BLOCKS, false, blocks);
	trace_writer_deinit(&writer);
	buf_deinit(&payload);
	// An index without run facts: for these the events are read.
	pack(expected, &payload);
	sample->write(&writer);
	add_index(&writer, &payload, 0);
	check_opened(&writer, RECORDING_SUMS, true, expected);
	check_opened(&writer, RECORDING_RUN_FACTS, false, facts);
	trace_writer_deinit(&writer);
	// The version that had none: their length is missing, too.
	assert_int_equal(payload.data[--payload.size], 0);
	payload.data[0] = INDEX_VERSION_THIRD;
	sample->write(&writer);
	add_index(&writer, &payload, 0);
	check_opened(&writer, RECORDING_SUMS, true, expected);
	check_opened(&writer, RECORDING_RUN_FACTS, false, facts);
	trace_writer_deinit(&writer);
	payload.size++;
	payload.data[0] = INDEX_VERSION;
	// A checksum that does not match.
	sample->write(&writer);
	add_index(&writer, &payload, 1);
	check_opened(&writer, RECORDING_SUMS, false, expected);
	trace_writer_deinit(&writer);
	// An index of a later version, and one of other events.
	for (size_t at = 0; at < 2; at++) {
		payload.data[at] ^= 4;
		sample->write(&writer);
		add_index(&writer, &payload, 0);
		check_opened(&writer, RECORDING_SUMS, false, expected);
		trace_writer_deinit(&writer);
		payload.data[at] ^= 4;
	}
	buf_deinit(&payload);
	recording_close(blocks);
	recording_close(facts);
	recording_close(expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(cut_and_extended),
		cmocka_unit_test(changed),
		cmocka_unit_test(open_by_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
