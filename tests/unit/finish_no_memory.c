/* Finishes recordings with allocation n failing, for every n: the old file stays, and no leak. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "failing_malloc.h"
#include "finish/finish.h"
#include "sample_recordings.h"

static void write_file(const char *path, const struct trace_writer *writer)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(writer->data, 1, writer->size, file), writer->size);
	assert_int_equal(fclose(file), 0);
}

static void assert_untouched(const char *path, const struct trace_writer *writer)
{
	char *bytes = malloc(writer->size + 1);
	FILE *file = fopen(path, "r");

	assert_non_null(bytes);
	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, writer->size + 1, file), writer->size);
	assert_memory_equal(bytes, writer->data, writer->size);
	fclose(file);
	free(bytes);
}

static struct err *finish(const char *path, enum finish_compress compress)
{
	const struct finish_options options = {.compress = compress};
	struct recording *recording = NULL;
	struct symbolized *symbolized = NULL;
	struct finish_result result;
	struct err *err;

	err = recording_open(path, RECORDING_RUN_FACTS, NULL, NULL, &recording);
	if (!err)
		err = symbolized_create(recording, NULL, &symbolized);
	if (!err)
		err = finish_recording(path, recording, symbolized, &options, &result);
	if (symbolized)
		symbolized_destroy(symbolized);
	recording_close(recording);
	return err;
}

static void finish_each(void **state)
{
	char path[] = "/tmp/mallow-finish-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	for (unsigned int i = 0; i < 2 * sample_recording_count; i++) {
		struct trace_writer writer;
		struct err *err;
		long n;

		failing_malloc_countdown = -1;
		sample_recordings[i / 2].write(&writer);
		write_file(path, &writer);
		for (n = 0;; n++) {
			failing_malloc_countdown = n;
			err = finish(path, i % 2 ? FINISH_COMPRESS_ALWAYS : FINISH_COMPRESS_NEVER);
			failing_malloc_countdown = -1;
			if (!err)
				break;
			assert_int_equal(err_number(err), ENOMEM);
			err_destroy(err);
			assert_untouched(path, &writer);
		}
		assert_true(n > 10);
		trace_writer_deinit(&writer);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finish_each),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
