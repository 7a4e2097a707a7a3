/* What was live at the end of each second, against the slow and obvious way. */
#include <stdlib.h>

#include "analysis/recording_memory.h"
#include "analysis/views/heap_chunk.h"
#include "analysis/views/timeline.h"
#include "base/random.h"
#include "check.h"
#include "trace_writer.h"

#define SECOND      UINT64_C(1000000000)
#define START_NS    UINT64_C(5000000) /* trace_writer_init() */
#define START_TICKS 1000
#define ALLOCATIONS 300000 /* more than one piece of what threads share */
#define CHUNK       10000
#define SECONDS     60

/* Blocks at random places. Of four blocks, two are freed soon, one late, and one never. */
static void write_allocations(struct trace_writer *writer)
{
	uint64_t random = 1, ticks = START_TICKS;
	uint64_t *addresses = malloc(ALLOCATIONS * sizeof(*addresses));

	trace_writer_init(writer);
	for (uint32_t i = 0; i < ALLOCATIONS; i++) {
		if (i % CHUNK == 0) {
			if (i)
				trace_writer_seal(writer);
			// Nothing happens for some seconds.
			ticks += 2 * ALLOCATIONS / SECONDS * (i / CHUNK % 3);
			trace_writer_chunk(writer, 0, i / CHUNK, TRACE_WRITER_SEALED);
			trace_writer_base(writer, ticks);
		}
		addresses[i] = (i + random_next(&random) % 1024 * 2 * ALLOCATIONS) * 16;
		trace_writer_allocate(writer, 1, 1, addresses[i], i % 3000 + 1);
		if (i % 2)
			trace_writer_free(writer, 20, 1, addresses[i - 1]);
		else if (i % 4 == 0 && i >= ALLOCATIONS / 2)
			trace_writer_free(writer, 20, 1, addresses[i - ALLOCATIONS / 2 + 1]);
		ticks += 1 + (i % 2 || (i % 4 == 0 && i >= ALLOCATIONS / 2));
	}
	trace_writer_end(writer, ticks, START_NS + SECONDS * SECOND);
	trace_writer_seal(writer);
	free(addresses);
}

/* What a point should be; but for its deltas, and what was allocated and freed is that until then.
 */
static struct timeline_point expected_at(const struct block_columns *blocks, uint64_t unix_s,
					 uint64_t end_ns)
{
	struct timeline_point point = {.unix_s = unix_s};
	uint64_t low = UINT64_MAX, high = 0, chunks = 0;

	for (uint64_t i = 0; i < blocks->count && blocks->allocated_ns[i] < end_ns; i++) {
		bool leaked = blocks->freed_ns[i] == TIME_NEVER;

		point.leaked_size += leaked ? blocks->size[i] : 0;
		point.leaked_count += leaked;
		point.allocated++;
		point.freed += blocks->freed_ns[i] < end_ns;
		if (blocks->freed_ns[i] < end_ns)
			continue;
		point.size += blocks->size[i];
		point.count++;
		low = heap_chunk_start(blocks, i) < low ? heap_chunk_start(blocks, i) : low;
		high = heap_chunk_end(blocks, i) > high ? heap_chunk_end(blocks, i) : high;
		chunks += heap_chunk_end(blocks, i) - heap_chunk_start(blocks, i);
	}
	if (point.count && high - low > chunks)
		point.fragmentation = high - low - chunks;
	return point;
}

static void seconds(void **state)
{
	struct timeline_point *points, before = {0};
	uint64_t allocated = 0, freed = 0;
	struct recording *recording;
	struct trace_writer writer;
	uint64_t start_s, begun_ns;
	size_t count;

	write_allocations(&writer);
	assert_ok(
		recording_open_memory("x", writer.data, writer.size, RECORDING_BLOCKS, &recording));
	assert_int_equal(recording_blocks(recording)->count, ALLOCATIONS);
	start_s = recording_facts(recording)->start_realtime_ns / SECOND;
	begun_ns = recording_facts(recording)->start_realtime_ns % SECOND;
	assert_ok(timeline_create(recording, &points, &count));
	assert_true(count > SECONDS / 2 && count <= SECONDS + 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t end_ns = (points[i].unix_s - start_s + 1) * SECOND - begun_ns;
		struct timeline_point point =
			expected_at(recording_blocks(recording), points[i].unix_s, end_ns);

		point.size_delta = (int64_t)(point.size - before.size);
		point.count_delta = (int64_t)(point.count - before.count);
		point.allocated -= allocated;
		point.freed -= freed;
		allocated += point.allocated;
		freed += point.freed;
		assert_memory_equal(&points[i], &point, sizeof(point));
		assert_true(i == 0 || point.unix_s > before.unix_s);
		before = point;
	}
	assert_true(before.count > ALLOCATIONS / 4 && before.fragmentation);
	free(points);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds),
	};

	// Large columns lie in files: not in the folder of who runs the test.
	setenv("XDG_CACHE_HOME", "/proc/nothing", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
