/* Names, labels, metrics and the call tree. */
#include <string.h>

#include "analysis/names/frame_label.h"
#include "analysis/recording_memory.h"
#include "analysis/trees/tree.h"
#include "check.h"
#include "hosted/buf.h"
#include "trace_writer.h"

/* Two modules without files: names come from offsets. */
static struct recording *open_sample(void)
{
	struct trace_writer writer;
	struct recording *recording = NULL;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_record(&writer, 0x87, "ut", UINT64_C(1), "/no/such/toy");
	trace_writer_module(&writer, 1000, 1, 0x400000, 0x400000, 0x500000, "/no/such/toy");
	trace_writer_module(&writer, 1000, 2, 0x700000, 0x700000, 0x800000, "/no/such/lib;odd.so");
	trace_writer_frame(&writer, 1, 0x400101, 1);
	trace_writer_frame(&writer, 2, 0x400201, 1);
	trace_writer_frame(&writer, 3, 0x700011, 2);
	trace_writer_frame(&writer, 4, 0x990000, 0);
	trace_writer_frame(&writer, 5, 2, 0);
	trace_writer_push(&writer, 0, 2, 1, 2);
	trace_writer_allocate(&writer, 1, 1, 0x10000, 100);
	trace_writer_push(&writer, 0, 1, 3);
	trace_writer_allocate(&writer, 1, 1, 0x20000, 20);
	trace_writer_allocate(&writer, 1, 1, 0x30000, 20);
	trace_writer_push(&writer, 2, 1, 4);
	trace_writer_allocate(&writer, 1, 1, 0x40000, 300);
	trace_writer_push(&writer, 2, 1, 5);
	trace_writer_allocate(&writer, 1, 1, 0x50000, 7);
	trace_writer_free(&writer, 20, 1, 0x50000);
	trace_writer_push(&writer, 1, 0);
	trace_writer_allocate(&writer, 1, 1, 0x60000, 1); // empty stack
	trace_writer_seal(&writer);
	assert_ok(recording_open_memory("x", writer.data, writer.size, RECORDING_SUMS, &recording));
	trace_writer_deinit(&writer);
	return recording;
}

/* The tree as text: label value self calls, one level a pair of parentheses. */
static void put_node(struct buf *buf, const struct tree *tree, uint32_t index)
{
	const struct tree_node *node = &tree->nodes[index];

	buf_printf(buf, "%s %u %u %u(", node->label, (unsigned int)node->value,
		   (unsigned int)node->self, (unsigned int)node->calls);
	for (uint32_t i = node->first_child; i != RECORDING_NONE; i = tree->nodes[i].next_sibling) {
		assert_int_equal(tree->nodes[i].parent, index);
		put_node(buf, tree, i);
	}
	buf_char(buf, ')');
}

static void check_tree(struct recording *recording, struct symbolized *symbolized,
		       enum metric metric, const char *expected)
{
	struct tree *tree = NULL;
	struct buf buf;

	buf_init(&buf);
	assert_ok(tree_create(recording, symbolized, metric, TREE_WHOLE, &tree));
	put_node(&buf, tree, 0);
	assert_string_equal(buf_string(&buf), expected);
	tree_destroy(tree);
	buf_deinit(&buf);
}

static void trees(void **state)
{
	struct recording *recording = open_sample();
	struct symbolized *symbolized = NULL;

	assert_ok(symbolized_create(recording, NULL, &symbolized));
	// The peak is 447 = 100 + 20 + 20 + 300 + 7: the last block comes after a free of 7.
	check_tree(recording, symbolized, METRIC_PEAK,
		   " 447 0 5([toy]+0x100 440 0 4(0x98ffff 300 300 1()[toy]+0x200 140 100 3("
		   "[lib:odd.so]+0x10 40 40 2()))[broken] 7 7 1())");
	check_tree(recording, symbolized, METRIC_LEAKED,
		   " 441 1 5([toy]+0x100 440 0 4(0x98ffff 300 300 1()[toy]+0x200 140 100 3("
		   "[lib:odd.so]+0x10 40 40 2())))");
	check_tree(recording, symbolized, METRIC_TEMPORARY, " 1 0 1([broken] 1 1 1())");
	symbolized_destroy(symbolized);
	recording_close(recording);
}

#define CHILDREN 50 /* more than are looked for one after the other */

/* A file that is loaded twice: equal labels at different addresses are one node. */
static void many_children(void **state)
{
	struct trace_writer writer;
	struct recording *recording = NULL;
	struct symbolized *symbolized = NULL;
	struct tree *tree = NULL;
	uint32_t found = 0;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	for (uint64_t i = 1; i <= 2; i++) {
		uint64_t bias = 0x400000 * i, first = 100 * i;

		trace_writer_module(&writer, 1000, i, bias, bias, bias + 0x100000, "/no/such/toy");
		for (uint64_t k = 0; k <= CHILDREN; k++)
			trace_writer_frame(&writer, first + k, bias + 0x101 + 16 * k, i);
		for (uint64_t k = 1; k <= CHILDREN; k++) {
			trace_writer_push(&writer, i * k > 1 ? 2 : 0, 2, first, first + k);
			trace_writer_allocate(&writer, 1, 1, 0x10000 * (i * 64 + k), 100 - k);
		}
	}
	trace_writer_seal(&writer);
	assert_ok(recording_open_memory("x", writer.data, writer.size, RECORDING_SUMS, &recording));
	assert_ok(symbolized_create(recording, NULL, &symbolized));
	assert_ok(tree_create(recording, symbolized, METRIC_TOTAL, TREE_WHOLE, &tree));
	assert_int_equal(tree->count, 2 + CHILDREN);
	assert_int_equal(tree->nodes[1].next_sibling, RECORDING_NONE);
	for (uint32_t i = tree->nodes[1].first_child; i != RECORDING_NONE;
	     i = tree->nodes[i].next_sibling) {
		assert_int_equal(tree->nodes[i].value, 2 * (100 - ++found));
		assert_int_equal(tree->nodes[i].first_child, RECORDING_NONE);
	}
	assert_int_equal(found, CHILDREN);
	tree_destroy(tree);
	symbolized_destroy(symbolized);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void named_frames(void **state)
{
	struct recording *recording = open_sample();
	struct symbolized *symbolized = NULL;
	const struct named_frame *lines, *again;
	size_t count;

	assert_ok(symbolized_create(recording, NULL, &symbolized));
	assert_ok(symbolized_frame(symbolized, 0, &lines, &count));
	assert_int_equal(count, 1);
	assert_string_equal(lines->function, "[toy]+0x100");
	assert_string_equal(lines->module, "/no/such/toy");
	assert_string_equal(lines->module_name, "toy");
	assert_int_equal(lines->address, 0x400100);
	assert_true(lines->in_program);
	assert_false(lines->has_symbol);
	assert_null(lines->file);
	assert_ok(symbolized_frame(symbolized, 0, &again, &count));
	assert_ptr_equal(lines, again);
	assert_ok(symbolized_frame(symbolized, 3, &lines, &count));
	assert_string_equal(lines->function, "0x98ffff");
	assert_null(lines->module);
	symbolized_destroy(symbolized);
	recording_close(recording);
}

static void labels(void **state)
{
	static const struct {
		struct named_frame frame;
		const char *label;
	} cases[] = {
		{{.function = "main", .module_name = "toy", .has_symbol = true, .in_program = true},
		 "main"},
		{{.function = "f(int;\n)", .module_name = "l.so", .has_symbol = true},
		 "f(int: ) [l.so]"},
		{{.function = "[l.so]+0x1", .module_name = "l.so"}, "[l.so]+0x1"},
		{{.function = "[lost]"}, "[lost]"},
	};
	struct buf buf;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buf_init(&buf);
		frame_label(&buf, &cases[i].frame);
		assert_string_equal(buf_string(&buf), cases[i].label);
		buf_deinit(&buf);
	}
}

static void metrics(void **state)
{
	const struct site site = {
		.calls = 1, .total_bytes = 2, .peak_bytes = 3, .leaked_bytes = 4, .temporary = 5};

	assert_int_equal(metric_of_site(METRIC_LEAKED, &site), 4);
	assert_true(metric_info(METRIC_LEAKED)->bytes);
	assert_false(metric_info(METRIC_CALLS)->bytes);
	assert_int_equal(metric_of_site(METRIC_PEAK, &site), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees),        cmocka_unit_test(many_children),
		cmocka_unit_test(named_frames), cmocka_unit_test(labels),
		cmocka_unit_test(metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
