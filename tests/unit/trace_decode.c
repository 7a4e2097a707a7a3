/* The decoder alone: values of records, need for a deeper stack, and where bad bytes are. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "trace/cursor.h"
#include "trace/decode.h"

static enum decode_result begin(struct decode_stream *stream, const void *payload, size_t size)
{
	return decode_chunk(stream, payload, (uint32_t)size, 1000, 0, true);
}

static void varints(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint64_t value;
		bool failed;
	} cases[] = {
		{"\x00", 1, 0, false},
		{"\x7f", 1, 127, false},
		{"\x80\x01", 2, 128, false},
		{"\x80\x00", 2, 0, false},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, false},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0, true},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, 0, true},
		{"\x80", 1, 0, true},
		{"", 0, 0, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cursor cursor = cursor_make(cases[i].bytes, cases[i].size);

		assert_int_equal(cursor_varint(&cursor), cases[i].value);
		assert_int_equal(cursor.failed, cases[i].failed);
		if (!cases[i].failed)
			assert_int_equal(cursor_left(&cursor), 0);
	}
	// The same with more bytes behind: another way is taken.
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[32];
		struct cursor cursor = cursor_make(bytes, sizeof(bytes));

		if (cases[i].size < 2)
			continue;
		memset(bytes, 0xff, sizeof(bytes));
		memcpy(bytes, cases[i].bytes, cases[i].size);
		if (cases[i].failed)
			continue;
		assert_int_equal(cursor_varint(&cursor), cases[i].value);
		assert_int_equal(cursor_left(&cursor), sizeof(bytes) - cases[i].size);
	}
	for (unsigned int bits = 0; bits < 64; bits++) {
		uint8_t bytes[32] = {0};
		struct cursor cursor = cursor_make(bytes, sizeof(bytes));
		uint64_t value = UINT64_C(0xb5ad4eceda1ce2a9) >> bits;

		varint_put(bytes, value);
		assert_int_equal(cursor_varint(&cursor), value);
	}
}

static void operations(void **state)
{
	static const uint8_t payload[] = {
		// posix_memalign: dt 5, address +3 * 16, size 100, alignment 64, extra 7 << 2 | 2
		5 | 0x40, 5, 12, 100, 64, 30,
		// malloc: dt 0, address -1, size 24
		1, 0, 3, 24,
		// realloc: start dt 10, duration 3, old address the same, new +16, size 0
		18, 10, 3, 0, 4, 0,
		// delete[]: dt 1, address + 0
		22, 1, 0};
	struct decode_stream stream = {0};
	struct decode_event event;

	assert_int_equal(begin(&stream, payload, sizeof(payload)), DECODE_RECORD);
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(event.kind, TRACE_OP_POSIX_MEMALIGN);
	assert_int_equal(event.time, 1005);
	assert_int_equal(event.block.address, 48);
	assert_int_equal(event.block.size, 100);
	assert_int_equal(event.block.alignment, 64);
	assert_int_equal(event.block.usable, 107);
	assert_int_equal(event.heap_flags, TRACE_HEAP_NON_MAIN_ARENA);
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(event.offset, 6);
	assert_int_equal(event.block.address, 47);
	assert_int_equal(event.block.usable, 24);
	assert_int_equal(event.heap_flags, TRACE_HEAP_NON_MAIN_ARENA);
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(event.block.start, 1015);
	assert_int_equal(event.time, 1018);
	assert_int_equal(event.block.old_address, 47);
	assert_int_equal(event.block.address, 63);
	assert_int_equal(event.block.usable, 24);
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(event.kind, TRACE_OP_DELETE_ARRAY);
	assert_int_equal(event.block.address, 63);
	assert_int_equal(decode_next(&stream, &event), DECODE_END);
	assert_int_equal(decode_next(&stream, &event), DECODE_END);
}

/* The stack is asked for before anything happens, and `kept` tells what did not change. */
static void stacks(void **state)
{
	static const uint8_t payload[] = {
		23 | 0x20, 0x20, 7,  0,  99, // push frame 7 and pc 99
		23 | 0x20, 0xf1, 1,  1,  2,  3,  4,  5,  6,  7,
		8,         9,    10, 11, 12, 13, 14, 15, 16, // drop 1, push 16
		23 | 0x20, 0x0f, 2,                          // drop 17
		23 | 0x20, 0x01,                             // one more than there is
	};
	struct decode_stream stream = {0};
	struct decode_event event;

	begin(&stream, payload, sizeof(payload));
	assert_int_equal(decode_next(&stream, &event), DECODE_NEED_STACK);
	assert_int_equal(stream.needed, 2);
	stream.stack = malloc(2 * sizeof(*stream.stack));
	stream.capacity = 2;
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(stream.depth, 2);
	assert_int_equal(stream.stack[0].id, 7);
	assert_int_equal(stream.stack[1].id, 0);
	assert_int_equal(stream.stack[1].pc, 99);
	assert_int_equal(stream.kept, 0);
	stream.kept = 2;
	assert_int_equal(decode_next(&stream, &event), DECODE_NEED_STACK);
	assert_int_equal(stream.needed, 17);
	assert_int_equal(stream.depth, 2);
	stream.stack = realloc(stream.stack, 17 * sizeof(*stream.stack));
	stream.capacity = 17;
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(stream.depth, 17);
	assert_int_equal(stream.kept, 1);
	assert_int_equal(stream.stack[0].id, 7);
	assert_int_equal(stream.stack[1].id, 1);
	assert_int_equal(stream.stack[16].id, 16);
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(stream.depth, 0);
	assert_int_equal(stream.kept, 0);
	assert_int_equal(decode_next(&stream, &event), DECODE_BAD);
	assert_int_equal(stream.at, sizeof(payload) - 2);
	free(stream.stack);
}

static void unknown_kinds(void **state)
{
	static const uint8_t payload[] = {
		0x80, 0, 0xff, 3, 1, 2, 3, // both unknown
		0x81, 5, 9,    8, 7, 1, 1, // a frame with a field of a later version
		0x86, 0};                  // without its time
	struct decode_stream stream = {0};
	struct decode_event event;

	begin(&stream, payload, sizeof(payload));
	assert_int_equal(decode_next(&stream, &event), DECODE_RECORD);
	assert_int_equal(event.kind, TRACE_RECORD_FRAME);
	assert_int_equal(event.frame.id, 9);
	assert_int_equal(event.frame.module, 7);
	assert_int_equal(event.frame.flags, TRACE_FRAME_GUESS);
	assert_int_equal(decode_next(&stream, &event), DECODE_BAD);
	assert_int_equal(stream.at, 14);
}

static void bad_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"\x00", 1},
		{"\x1a", 1},         // reserved operation
		{"\x01\x05", 2},     // ends within
		{"\x54\x00\x00", 3}, // a free with extra
		{"\x17", 1},         // a stack record without a change
		{"\x37\xf0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, // pushes 2^64
		{"\x37\xf0\x80\x80\x80\x01", 6}, // pushes more than there are bytes
		{"\x8d\x20\x00", 3},             // longer than the chunk
		{"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00", 13}, // time overflows
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decode_stream stream = {0};
		struct decode_event event;

		begin(&stream, cases[i].bytes, cases[i].size);
		assert_int_equal(decode_next(&stream, &event), DECODE_BAD);
		assert_int_equal(stream.at, 0);
		assert_non_null(stream.expected);
	}
}

static void carried(void **state)
{
	struct decode_frame frames[4] = {{.id = 5}, {.id = 6}};
	struct decode_stream stream = {.stack = frames, .capacity = 4, .depth = 2, .kept = 2};

	assert_int_equal(decode_chunk(&stream, "", 0, 1, 1, true), DECODE_RECORD);
	assert_int_equal(stream.depth, 1);
	assert_int_equal(stream.kept, 1);
	assert_int_equal(frames[0].id, 5);
	assert_int_equal(decode_chunk(&stream, "", 0, 1, 3, true), DECODE_RECORD);
	assert_int_equal(stream.depth, 3);
	assert_int_equal(stream.kept, 0);
	assert_int_equal(frames[0].pc, TRACE_PC_LOST);
	assert_int_equal(frames[2].pc, TRACE_PC_LOST);
	assert_int_equal(decode_chunk(&stream, "", 0, 1, 5, true), DECODE_NEED_STACK);
	assert_int_equal(stream.needed, 5);
	assert_int_equal(decode_chunk(&stream, "", 0, 1, UINT32_MAX, true), DECODE_BAD);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint8_t *put_random(uint8_t *at, uint64_t *state, unsigned int bits)
{
	uint64_t value = next_random(state);

	return varint_put(at, value >> (64 - bits + next_random(state) % bits));
}

static unsigned int fields_of(uint8_t operation)
{
	if (operation >= TRACE_OP_FREE)
		return 2;
	if (operation > TRACE_OP_LAST_ALLOCATION)
		return 5;
	return 3 + ((operation >= 5 && operation <= 7) || operation >= 14);
}

/* A record that is most often right. */
static size_t put_random_record(uint8_t *at, uint64_t *state)
{
	uint64_t random = next_random(state);
	uint8_t *end = at, operation = random % 64 ? 1 + random % 22 : random % 256;
	bool extra = operation < TRACE_OP_FREE && random >> 20 & 1, change = random >> 21 & 1;
	unsigned int push = random >> 60 ? random >> 32 & 7 : 14;

	*end++ = (uint8_t)(operation | (change ? TRACE_STACK_CHANGE : 0) |
			   (extra ? TRACE_EXTRA : 0));
	if (change) {
		*end++ = (uint8_t)(push << 4 | (random >> 40 & 3 & push));
		for (unsigned int i = 0; i < push; i++) {
			end = put_random(end, state, 22);
			if (!end[-1] && end[-2] < 0x80)
				end = put_random(end, state, 40);
		}
	}
	for (unsigned int i = fields_of(operation) + extra; i; i--)
		end = put_random(end, state, random >> 50 & 63 ? 30 : 64);
	return (size_t)(end - at);
}

#define QUICK_FRAMES 4096
#define FEW_BYTES    190 /* the quick way wants more */

/*
 * The quick way gives what the careful one gives: the same bytes are decoded with many and with
 * too few bytes behind each record.
 */
static void quick_is_careful(void **state)
{
	static uint8_t payload[1 << 16];
	static struct decode_frame first_frames[QUICK_FRAMES], second_frames[QUICK_FRAMES];
	struct decode_stream first = {.stack = first_frames, .capacity = QUICK_FRAMES};
	struct decode_stream second = {.stack = second_frames, .capacity = QUICK_FRAMES};
	uint64_t random = 88172645463325252, records = 0;

	for (int round = 0; round < 400; round++) {
		size_t size = 0;

		// Some frames, so that the first ones can be dropped.
		payload[size++] = TRACE_OP_STACK | TRACE_STACK_CHANGE;
		payload[size++] = 14 << 4;
		while (size < 16)
			payload[size++] = 1;
		while (size < sizeof(payload) - 512)
			size += put_random_record(payload + size, &random);
		memset(payload + size, 0, sizeof(payload) - size);
		begin(&first, payload, sizeof(payload));
		begin(&second, payload, sizeof(payload));
		for (;;) {
			struct decode_event a = {0}, b = {0};
			enum decode_result result = decode_next(&first, &a);

			// Random bytes make longer records, too, which end this round.
			if (first.at - second.at > FEW_BYTES)
				break;
			second.size = second.at + FEW_BYTES;
			assert_int_equal(decode_next(&second, &b), result);
			assert_int_equal(first.at, second.at);
			if (result != DECODE_RECORD)
				break;
			records++;
			assert_memory_equal(&a, &b, sizeof(a));
			assert_int_equal(first.depth, second.depth);
			assert_int_equal(first.kept, second.kept);
			assert_int_equal(first.address, second.address);
			assert_memory_equal(first_frames, second_frames,
					    first.depth * sizeof(*first_frames));
			if (records % 3)
				first.kept = second.kept = first.depth;
		}
	}
	assert_true(records > 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints),          cmocka_unit_test(operations),
		cmocka_unit_test(stacks),           cmocka_unit_test(unknown_kinds),
		cmocka_unit_test(bad_bytes),        cmocka_unit_test(carried),
		cmocka_unit_test(quick_is_careful),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
