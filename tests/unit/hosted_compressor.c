/* What a compressor writes comes out again as it went in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "check.h"
#include "hosted/compressor.h"

#define MUCH 3000000

/* Text that compresses somewhat. */
static char *make_text(void)
{
	char *text = malloc(MUCH);
	uint64_t value = 1;

	assert_non_null(text);
	for (int i = 0; i < MUCH; i++) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		text[i] = "+ 0123456789-\na"[value >> 60];
	}
	return text;
}

static void pack(enum compression compression, const char *text, size_t size, struct buf *out)
{
	struct compressor *compressor;
	size_t piece;

	assert_ok(compressor_create(compression, out, &compressor));
	for (size_t at = 0; at < size; at += piece) {
		piece = at % 7 ? 1000 : 99999;
		if (piece > size - at)
			piece = size - at;
		buf_put(compressor_input(compressor), text + at, piece);
	}
	assert_ok(compressor_finish(compressor));
	compressor_destroy(compressor);
	assert_ok(buf_finish(out));
}

static size_t gunzip(const struct buf *from, char *into, size_t room)
{
	z_stream stream = {
		.next_in = (Bytef *)from->data,
		.avail_in = (uInt)from->size,
		.next_out = (Bytef *)into,
		.avail_out = (uInt)room,
	};

	assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	inflateEnd(&stream);
	return stream.total_out;
}

static void round_trip(size_t size)
{
	char *text = make_text(), *back = malloc(MUCH + 1);
	struct buf out;

	assert_non_null(back);
	buf_init(&out);
	pack(COMPRESSION_GZIP, text, size, &out);
	assert_true(out.size < size * 2 / 3 + 100);
	assert_int_equal(gunzip(&out, back, MUCH + 1), size);
	assert_memory_equal(back, text, size);
	buf_deinit(&out);
	pack(COMPRESSION_ZSTD, text, size, &out);
	assert_true(out.size < size * 2 / 3 + 100);
	assert_int_equal(ZSTD_decompress(back, MUCH, out.data, out.size), size);
	assert_memory_equal(back, text, size);
	buf_deinit(&out);
	pack(COMPRESSION_NONE, text, size, &out);
	assert_int_equal(out.size, size);
	buf_deinit(&out);
	free(text);
	free(back);
}

static void much(void **state)
{
	round_trip(MUCH);
}

static void little(void **state)
{
	round_trip(1);
}

static void nothing(void **state)
{
	round_trip(0);
}

static void names(void **state)
{
	assert_int_equal(compression_of_name("a/b.gz"), COMPRESSION_GZIP);
	assert_int_equal(compression_of_name("b.pb.gz"), COMPRESSION_GZIP);
	assert_int_equal(compression_of_name("b.zst"), COMPRESSION_ZSTD);
	assert_int_equal(compression_of_name("b.gz.txt"), COMPRESSION_NONE);
	assert_int_equal(compression_of_name(".gz"), COMPRESSION_NONE);
	assert_int_equal(compression_of_name("gz"), COMPRESSION_NONE);
	assert_int_equal(compression_of_name(""), COMPRESSION_NONE);
}

static int refuse(void *argument, const void *data, size_t size)
{
	return ENOSPC;
}

/* The file's failure is the file's, and is not forgotten. */
static void disk_full(void **state)
{
	char *text = make_text();
	struct compressor *compressor;
	struct buf out;

	buf_init_sink(&out, refuse, NULL, "out.gz");
	assert_ok(compressor_create(COMPRESSION_GZIP, &out, &compressor));
	buf_put(compressor_input(compressor), text, MUCH);
	assert_ok(compressor_finish(compressor));
	assert_err(buf_finish(&out), "cannot write out.gz: No space left on device");
	compressor_destroy(compressor);
	compressor_destroy(NULL);
	buf_deinit(&out);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(much),  cmocka_unit_test(little),    cmocka_unit_test(nothing),
		cmocka_unit_test(names), cmocka_unit_test(disk_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
