/*
 * libFuzzer target: compressed data behind two bytes that say how long they claim to be. zlib must
 * see them as we do.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "hosted/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many bytes zlib finds, size at most. */
static size_t zlib_finds(uint8_t *data, size_t data_size, uint8_t *out, size_t size)
{
	z_stream stream = {.next_in = data, .avail_in = (uInt)data_size};

	stream.next_out = out;
	stream.avail_out = (uInt)size;
	if (inflateInit(&stream) != Z_OK)
		abort();
	(void)inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return size - stream.avail_out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inflate *state = malloc(sizeof(*state));
	uint8_t *in = calloc(1, size + INFLATE_IN_PADDING), *out, *expected;
	size_t claimed;

	if (size < 2 || !state || !in) {
		free(state);
		free(in);
		return 0;
	}
	claimed = (size_t)data[0] | (size_t)data[1] << 8;
	memcpy(in, data + 2, size - 2);
	out = malloc(claimed + INFLATE_OUT_PADDING);
	expected = malloc(claimed + 1);
	if (!out || !expected)
		abort();
	if (inflate_begin(state, in, size - 2, out, claimed) && inflate_until(state, claimed / 2) &&
	    inflate_until(state, claimed) &&
	    (zlib_finds(in, size - 2, expected, claimed) != claimed ||
	     memcmp(out, expected, claimed) != 0))
		abort();
	free(state);
	free(in);
	free(out);
	free(expected);
	return 0;
}
