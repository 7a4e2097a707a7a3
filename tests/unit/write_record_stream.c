/* What record_stream.h writes, the decoder reads: the same events, with the same stacks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "check.h"
#include "failing_malloc.h"
#include "trace/chunk_check.h"
#include "trace/decode.h"
#include "write/record_stream.h"

#define EVENTS     150000
#define DEPTH_MAX  300
#define DEPTH_DEEP 20000

struct written {
	struct trace_event event;
	struct record_frame *stack;
	uint32_t depth;
};

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	return random_next(&state) % below;
}

/* A program's, or the kernel's. */
static uint64_t draw_address(void)
{
	return draw(2) ? draw(UINT64_C(1) << 56) : -1 - draw(UINT64_C(1) << 56);
}

/* Mostly near the one before: some frames less, some others. */
static uint32_t next_stack(struct record_frame *stack, uint32_t depth)
{
	uint32_t keep = draw(8) ? depth - (uint32_t)draw(depth < 6 ? depth + 1 : 6) : 0;
	uint32_t push = (uint32_t)draw(draw(10) ? 4 : 40);

	for (depth = keep; depth < keep + push && depth < DEPTH_MAX; depth++) {
		stack[depth].id = (uint32_t)(draw(20) ? 1 + draw(40000) : 0);
		stack[depth].pc = stack[depth].id ? 0 : draw(UINT64_MAX);
	}
	return depth;
}

static struct trace_event next_event(uint64_t *now)
{
	struct trace_event event = {.operation = (uint8_t)(1 + draw(TRACE_OP_DELETE_ARRAY))};

	*now += draw(1000);
	event.ticks = draw(50) ? *now : *now - draw(100000);
	event.address = draw(3) ? 0x7f0000000000 + 16 * draw(1 << 20) : draw_address();
	if (event.operation > TRACE_OP_REALLOCARRAY)
		return event;
	event.size = draw(10) ? draw(5000) : draw(UINT64_MAX >> 8);
	event.slack = draw(4) ? trace_glibc_usable(event.size) - event.size : draw(100);
	event.heap_flags = draw(10) ? 0 : (uint8_t)draw(4);
	if (event.operation >= TRACE_OP_REALLOC && event.operation <= TRACE_OP_REALLOCARRAY) {
		event.old_address = draw_address();
		event.duration = draw(500);
	}
	if (trace_carries_alignment(event.operation))
		event.alignment = draw(3) ? 1ull << draw(12) : 0;
	return event;
}

static void assert_event(const struct written *wanted, const struct decode_event *event)
{
	const struct trace_event *given = &wanted->event;

	assert_int_equal(event->kind, given->operation);
	assert_int_equal(event->time, given->ticks + given->duration);
	assert_int_equal(event->block.address, given->address);
	if (given->operation > TRACE_OP_REALLOCARRAY)
		return;
	assert_int_equal(event->block.start, given->ticks);
	assert_int_equal(event->block.old_address, given->old_address);
	assert_int_equal(event->block.size, given->size);
	assert_int_equal(event->block.usable, given->size + given->slack);
	assert_int_equal(event->block.alignment, given->alignment);
	assert_int_equal(event->heap_flags, given->heap_flags);
}

static void assert_stack(const struct written *wanted, const struct decode_stream *stream)
{
	if (!wanted->stack)
		return;
	assert_int_equal(stream->depth, wanted->depth);
	for (uint32_t i = 0; i < wanted->depth; i++) {
		assert_int_equal(stream->stack[i].id, wanted->stack[i].id);
		if (!wanted->stack[i].id)
			assert_int_equal(stream->stack[i].pc, wanted->stack[i].pc);
	}
}

static void assert_read(const struct buf *chunks, const struct written *wanted, size_t count)
{
	struct decode_stream stream = {.capacity = 1 << 16};
	size_t read = 0, chunk_count = 0;

	stream.stack = calloc(stream.capacity, sizeof(*stream.stack));
	assert_non_null(stream.stack);
	for (size_t at = 0; at < chunks->size; chunk_count++) {
		struct trace_chunk chunk;
		struct decode_event event;
		const char *expected;
		enum decode_result result;

		assert_int_equal(chunk_check(chunks->data + at, &chunk, &expected), CHUNK_VALID);
		assert_true(chunk_check_trailer(chunks->data + at, chunk.size));
		assert_int_equal(chunk_sequence(&chunk), chunk_count);
		assert_int_equal(decode_chunk(&stream, chunks->data + at + sizeof(chunk),
					      chunk_committed(&chunk), chunk.base_ticks,
					      chunk.carried, true),
				 DECODE_RECORD);
		while ((result = decode_next(&stream, &event)) == DECODE_RECORD) {
			if (event.kind >= TRACE_OP_STACK)
				continue;
			assert_true(read < count);
			assert_event(&wanted[read], &event);
			assert_stack(&wanted[read++], &stream);
		}
		assert_int_equal(result, DECODE_END);
		at += chunk.size;
	}
	assert_int_equal(read, count);
	assert_true(chunk_count > 2);
	free(stream.stack);
}

/* The n-th event of all; each seventh has a stack that is not told. */
static void write_one(struct record_stream *stream, struct written *written, size_t number,
		      uint64_t *now, struct record_frame *stack, uint32_t *depth)
{
	written->event = next_event(now);
	if (number == EVENTS / 2)
		for (*depth = 0; *depth < DEPTH_DEEP; ++*depth)
			stack[*depth] = (struct record_frame){.id = 1 + *depth % 90};
	else if (number == EVENTS / 2 + 1)
		*depth = 3;
	else
		*depth = next_stack(stack, *depth);
	if (written->event.operation <= TRACE_OP_REALLOCARRAY || number % 7) {
		written->depth = *depth;
		written->stack = malloc((*depth + 1) * sizeof(*stack));
		assert_non_null(written->stack);
		memcpy(written->stack, stack, *depth * sizeof(*stack));
	}
	if (record_stream_is_full(stream, written->depth)) {
		record_stream_seal(stream);
		record_stream_begin(stream, *now, 1);
	}
	record_stream_event(stream, &written->event, written->stack, written->depth);
}

static void test_read_as_written(void **test_state)
{
	struct written *written = calloc(EVENTS, sizeof(*written));
	struct record_frame *stack = calloc(DEPTH_DEEP, sizeof(*stack));
	struct buf chunks = BUF_EMPTY;
	struct record_stream stream;
	uint64_t now = 1000000;
	uint32_t depth = 0;

	state = 1;
	record_stream_init(&stream, &chunks, 3, TRACE_ALLOCATOR_GLIBC);
	record_stream_begin(&stream, now, 0);
	for (size_t i = 0; i < EVENTS; i++)
		write_one(&stream, &written[i], i, &now, stack, &depth);
	record_stream_seal(&stream);
	record_stream_deinit(&stream);
	assert_int_equal(chunks.failure, 0);
	assert_read(&chunks, written, EVENTS);
	for (size_t i = 0; i < EVENTS; i++)
		free(written[i].stack);
	free(written);
	free(stack);
	buf_deinit(&chunks);
}

static void test_no_memory(void **test_state)
{
	const struct record_frame stack[] = {{.id = 1}, {.id = 2}};
	const struct trace_event event = {.operation = TRACE_OP_MALLOC, .address = 16, .size = 5};
	int failure = ENOMEM;

	for (long i = 0; failure; i++) {
		struct buf chunks = BUF_EMPTY;
		struct record_stream stream;

		failing_malloc_countdown = i;
		record_stream_init(&stream, &chunks, 0, TRACE_ALLOCATOR_OTHER);
		record_stream_begin(&stream, 0, 0);
		record_stream_fact(&stream, TRACE_RECORD_MARK, (uint64_t[]){0}, 1, "here", 4);
		record_stream_event(&stream, &event, stack, 2);
		record_stream_event(&stream, &event, stack, 1);
		record_stream_seal(&stream);
		failing_malloc_countdown = -1;
		failure = chunks.failure;
		assert_true(failure == 0 || failure == ENOMEM);
		assert_true(i > 2 || failure);
		record_stream_deinit(&stream);
		buf_deinit(&chunks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_as_written),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
