/* The tree of stacks with many children, and stacks whose frames depend on other streams. */
#include <stdlib.h>
#include <string.h>

#include "analysis/recording.h"
#include "analysis/recording_memory.h"
#include "analysis/tables/stack_trie.h"
#include "check.h"
#include "trace_writer.h"

#define PARENTS 5
#define FRAMES  300

/*
 * Frames below five parents in an order without pattern, so that lists of children are walked,
 * turned and left for the map: a pair has one node, whenever it is asked for.
 */
static void many_children(void **state)
{
	static uint32_t known[PARENTS][FRAMES];
	uint32_t parents[PARENTS] = {RECORDING_NONE};
	struct stack_trie trie = {0};
	uint32_t random = 1, node;
	size_t made = 0;

	memset(known, 0xff, sizeof(known));
	for (uint32_t i = 1; i < PARENTS; i++, made++)
		assert_ok(stack_trie_insert(&trie, parents[i - 1], 1000 + i, &parents[i]));
	for (int i = 0; i < 50000; i++) {
		random = random * 1103515245 + 12345;

		uint32_t parent = random >> 8 & 3, frame = (random >> 12) % FRAMES;

		// The last parent keeps few children.
		if (frame < 6)
			parent = PARENTS - 1;
		assert_ok(stack_trie_insert(&trie, parents[parent], frame, &node));
		if (known[parent][frame] == RECORDING_NONE) {
			assert_int_equal(node, made++);
			known[parent][frame] = node;
		}
		assert_int_equal(node, known[parent][frame]);
	}
	assert_true(made > 4 * (FRAMES - 50));
	assert_ok(stack_trie_finish(&trie));
	assert_int_equal(trie.nodes.count, made);
	for (uint32_t i = 0; i < PARENTS; i++) {
		for (uint32_t frame = 0; frame < FRAMES; frame++) {
			if (known[i][frame] == RECORDING_NONE)
				continue;

			const struct stack_node *made_node = &trie.nodes.items[known[i][frame]];

			assert_int_equal(made_node->frame, frame);
			assert_int_equal(made_node->parent, parents[i]);
			assert_int_equal(made_node->depth, i + 1);
		}
	}
	stack_trie_deinit(&trie);
}

/* A chunk with twenty allocations below one bare pc, at 1020, 1040, … 1400 ticks. */
static void write_allocations(struct trace_writer *writer)
{
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	for (uint64_t i = 0; i < 20; i++) {
		trace_writer_push_pcs(writer, i ? 1 : 0, 1, 0x5001);
		trace_writer_allocate(writer, 1, 20, 0x10000 + 0x100 * i, 1);
	}
	trace_writer_seal(writer);
}

/*
 * One thread allocates in libraries that another one loads and unloads: which of them a pc is in
 * is told by time, however far the first stream was decoded ahead.
 */
static void modules_of_another_stream(void **state)
{
	struct recording *recording = NULL;
	struct trace_writer writer;
	uint32_t count;

	trace_writer_init(&writer);
	write_allocations(&writer);
	trace_writer_chunk(&writer, 1, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(&writer, 1, 90, 0x900000, 1); // 1090
	trace_writer_module(&writer, 1090, 1, 0x4000, 0x5000, 0x6000, "/lib/one.so");
	trace_writer_allocate(&writer, 1, 110, 0x901000, 1); // 1200
	trace_writer_record(&writer, 0x83, "su", INT64_C(205), UINT64_C(1));
	trace_writer_allocate(&writer, 1, 90, 0x902000, 1); // 1290
	trace_writer_module(&writer, 1290, 2, 0x4000, 0x5000, 0x6000, "/lib/two.so");
	trace_writer_seal(&writer);
	assert_ok(recording_open_memory("x", writer.data, writer.size, RECORDING_SUMS, &recording));

	const struct site *sites = recording_sites(recording, &count);
	const struct stack_node *nodes = recording_stacks(recording, &(uint32_t){0});
	const struct recorded_frame *frames = recording_frames(recording, &(uint32_t){0});

	// Until 1205 the first library, and before it was known, too; then the second.
	assert_int_equal(count, 3);
	assert_int_equal(sites[0].calls, 10);
	assert_int_equal(frames[nodes[sites[0].stack].frame].module, 0);
	assert_int_equal(sites[1].stack, RECORDING_NONE);
	assert_int_equal(sites[1].calls, 3);
	assert_int_equal(sites[2].calls, 10);
	assert_int_equal(frames[nodes[sites[2].stack].frame].module, 1);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_children),
		cmocka_unit_test(modules_of_another_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
