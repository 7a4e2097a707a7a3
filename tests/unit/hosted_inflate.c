/*
 * What zlib compressed comes out as it was, whatever the kinds of blocks, in one go or byte by
 * byte; and what is damaged is told to be, or gives other bytes, but touches nothing outside of its
 * buffers (which the address sanitizer looks at: they are as long as the header says).
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/compiler.h"
#include "check.h"
#include "hosted/inflate.h"

#define SIZE 70000 /* more than a window */

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void put_zeros(uint8_t *bytes)
{
	memset(bytes, 0, SIZE);
}

static void put_random(uint8_t *bytes)
{
	uint64_t state = 1;

	for (int i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)random_next(&state);
}

/* Text with repetitions at all distances. */
static void put_text(uint8_t *bytes)
{
	uint64_t state = 2;

	for (int i = 0; i < SIZE; i++)
		bytes[i] = i > 300 && random_next(&state) % 8
				   ? bytes[i - 1 - (int)(random_next(&state) % 300)]
				   : "DW_AT_low_pc"[random_next(&state) % 12];
}

/* Bytes each half as frequent as the one before: codes of all lengths, up to the longest. */
static void put_skewed(uint8_t *bytes)
{
	uint64_t state = 3;

	for (int i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)__builtin_ctzll(random_next(&state) | 1u << 25);
	for (int i = 0; i < 256; i++)
		bytes[SIZE / 256 * i] = (uint8_t)i;
}

/* Short periods, where what is copied is what was just written. */
static void put_periods(uint8_t *bytes)
{
	for (int i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i % (1 + i / 1000 % 20));
}

static void (*const contents[])(uint8_t *) = {put_zeros, put_random, put_text, put_skewed,
					      put_periods};

/* Compressed data with the padding that is asked for. */
struct packed {
	uint8_t *bytes;
	size_t size;
};

static struct packed pack(const uint8_t *bytes, size_t size, int level, int strategy)
{
	struct packed packed = {.bytes = calloc(1, SIZE + 1000)};
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};

	assert_non_null(packed.bytes);
	stream.next_out = packed.bytes;
	stream.avail_out = SIZE + 1000 - INFLATE_IN_PADDING;
	assert_int_equal(deflateInit2(&stream, level, Z_DEFLATED, 15, 8, strategy), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	packed.size = stream.total_out;
	deflateEnd(&stream);
	packed.bytes = realloc(packed.bytes, packed.size + INFLATE_IN_PADDING);
	assert_non_null(packed.bytes);
	return packed;
}

/* Step by step; the output is step bytes long each time at least. */
static bool unpack(struct packed packed, size_t size, size_t step, const uint8_t *expected)
{
	struct inflate *state = malloc(sizeof(*state));
	uint8_t *out = malloc(size + INFLATE_OUT_PADDING);
	bool good = state && out && inflate_begin(state, packed.bytes, packed.size, out, size);

	for (size_t at = 0; good && at < size; at += step) {
		size_t end = at + step < size ? at + step : size;

		good = inflate_until(state, end);
		if (good && expected)
			assert_memory_equal(out + at, expected + at, end - at);
	}
	free(state);
	free(out);
	return good;
}

static void all_kinds_of_blocks(void **state)
{
	static const int levels[] = {0, 1, 6, 9};
	static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE};
	uint8_t *bytes = malloc(SIZE);

	assert_non_null(bytes);
	for (size_t i = 0; i < ARRAY_COUNT(contents); i++) {
		contents[i](bytes);
		for (size_t j = 0; j < ARRAY_COUNT(levels) * ARRAY_COUNT(strategies); j++) {
			struct packed packed = pack(bytes, SIZE, levels[j % 4], strategies[j / 4]);

			assert_true(unpack(packed, SIZE, SIZE, bytes));
			assert_true(unpack(packed, SIZE, 1000, bytes));
			assert_true(unpack(packed, SIZE, 1, bytes));
			free(packed.bytes);
		}
	}
	free(bytes);
}

static void small_sizes(void **state)
{
	uint8_t bytes[SIZE];

	put_text(bytes);
	for (size_t size = 0; size < 600; size++) {
		struct packed packed = pack(bytes, size, 9, Z_DEFAULT_STRATEGY);

		assert_true(unpack(packed, size, SIZE, bytes));
		// It ends sooner than is claimed.
		assert_false(unpack(packed, size + 1, SIZE, NULL));
		free(packed.bytes);
	}
}

static void cut_off_at_each_byte(void **state)
{
	uint8_t bytes[SIZE];
	size_t size = 3000;

	put_text(bytes);
	for (int level = 0; level <= 9; level += 3) {
		struct packed packed = pack(bytes, size, level, Z_DEFAULT_STRATEGY);

		// The last bytes are a checksum, and the end of the block.
		for (size_t cut = 0; cut + 8 < packed.size; cut++) {
			struct packed rest = {calloc(1, cut + INFLATE_IN_PADDING), cut};

			assert_non_null(rest.bytes);
			memcpy(rest.bytes, packed.bytes, cut);
			assert_false(unpack(rest, size, size, NULL));
			free(rest.bytes);
		}
		free(packed.bytes);
	}
}

/* How many bytes zlib finds in the data before they are damaged or end, of room at most. */
static size_t zlib_finds(struct packed packed, uint8_t *out, size_t room)
{
	z_stream stream = {.next_in = packed.bytes, .avail_in = (uInt)packed.size};

	stream.next_out = out;
	stream.avail_out = (uInt)room;
	assert_int_equal(inflateInit(&stream), Z_OK);
	(void)inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return room - stream.avail_out;
}

static void damaged_as_zlib_sees_it(void **state)
{
	uint8_t bytes[SIZE], expected[SIZE];
	uint64_t seed = 4;
	int good = 0, bad = 0;

	for (int round = 0; round < 2000; round++) {
		size_t size = 1 + random_next(&seed) % 5000, found;
		struct packed packed;

		contents[round % ARRAY_COUNT(contents)](bytes);
		packed = pack(bytes, size, round % 10, round / 10 % 5);
		packed.bytes[random_next(&seed) % packed.size] ^=
			(uint8_t)(1u << random_next(&seed) % 8);
		found = zlib_finds(packed, expected, SIZE);
		if (found < size) {
			assert_false(unpack(packed, size, size, NULL));
			bad++;
		} else if (found == size) {
			assert_true(unpack(packed, size, size, expected));
			good++;
		} // else it is longer than it should be: both is right
		free(packed.bytes);
	}
	assert_true(good > 200 && bad > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_of_blocks),
		cmocka_unit_test(small_sizes),
		cmocka_unit_test(cut_off_at_each_byte),
		cmocka_unit_test(damaged_as_zlib_sees_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
